// A map style for any vector tiles: what a layer is called says how it is drawn, and a layer of
// which nothing is known gets a colour of its own. Text is drawn with the reader's own fonts: a
// style without `glyphs` asks no server for any.
'use strict';

const mapStyle = (() => {
  // The first that matches counts.
  const KINDS = [
    ['water', /water|ocean|sea|lake|river|marine|hydro|bathy/i],
    ['road', /road|street|transport|highway|rail|path|track|ferry|route/i],
    ['building', /build|house|address/i],
    ['green', /wood|forest|park|green|grass|landcover|vegetation|nature|farm/i],
    ['label', /label/i],
    ['place', /place|cit(y|ies)|town|village|poi|settlement|airport|aerodrome|peak|point/i],
    ['area', /countr|nation|state|province|region|district|admin|department|municip|count(y|ies)/i],
    ['boundary', /bound|border|frontier/i],
    ['land', /land|earth|continent|island/i],
  ];
  const LIGHT = {
    sea: '#cfe3ee', ground: '#f5f2ea', text: '#2a3642', halo: '#ffffffd9', selected: '#d9480f',
    water: '#a9cfe3', road: '#c98f4a', building: '#cdbfae', green: '#bcd9a8', place: '#7a3e6f', label: '#2a3642',
    boundary: '#8a7a9c', land: '#f5f2ea', area: '#9aa893', areaLine: '#8f8874',
    tints: ['#f4e3b8', '#d7e6b9', '#f3cfb6', '#e3d3ea', '#f7ecd2', '#cfe3cb'],
    others: ['#c9705a', '#5b8fb0', '#7d9c55', '#a277b0', '#c99a3c', '#4f9d92', '#b5688c', '#7c7f94'],
    fill: 0.55,
  };
  const DARK = {
    sea: '#0f1c28', ground: '#1b2128', text: '#dfe7ee', halo: '#0b1016d9', selected: '#ffb067',
    water: '#1e4359', road: '#b98546', building: '#4a4640', green: '#2f4a34', place: '#d6a3cd', label: '#dfe7ee',
    boundary: '#9586ab', land: '#1b2128', area: '#3d4a44', areaLine: '#65707a',
    tints: ['#3c3a2a', '#2f3d2d', '#43332b', '#363044', '#3a3d42', '#27403b'],
    others: ['#c9705a', '#5b8fb0', '#7d9c55', '#a277b0', '#c99a3c', '#4f9d92', '#b5688c', '#7c7f94'],
    fill: 0.45,
  };
  const NAMES = ['name:latin', 'name_en', 'name', 'NAME', 'Name', 'label', 'title', 'ADMIN', 'admin'];
  const FONT = ['system-ui'];

  const kindOf = (id) => KINDS.find(([, pattern]) => pattern.test(id))?.[0] ?? 'other';

  // One colour of several for each feature, by its name, so that neighbours differ mostly.
  function tinted(tints, field) {
    const name = ['to-string', ['get', field]];
    const letter = ['index-of', ['slice', name, 1, 2], 'abcdefghijklmnopqrstuvwxyz'];
    const pick = ['%', ['+', ['*', 7, ['length', name]], letter, 1], tints.length];
    return ['match', pick, ...tints.slice(1).flatMap((tint, i) => [i + 1, tint]), tints[0]];
  }

  // What is drawn of one layer of the tiles, and in which colours.
  function plan(layer, index, palette) {
    const kind = kindOf(layer.id);
    const fields = Object.keys(layer.fields ?? {});
    const label = NAMES.find((each) => fields.includes(each));
    const color = kind === 'other' ? palette.others[index % palette.others.length] : palette[kind];
    const isTinted = kind === 'area' && label !== undefined;
    return {
      id: layer.id, kind, label, color,
      fill: isTinted ? tinted(palette.tints, label) : color,
      fillOpacity: ['water', 'land', 'area'].includes(kind) ? 1 : palette.fill,
      line: kind === 'area' ? palette.areaLine : color,
      swatch: isTinted ? palette.tints[0] : color,
    };
  }

  const only = (...types) => ['in', ['geometry-type'], ['literal', types.flatMap((t) => [t, 'Multi' + t])]];
  const growing = (...stops) => ['interpolate', ['linear'], ['zoom'], ...stops];

  function fillLayer(p) {
    return { id: p.id + ':fill', type: 'fill', filter: only('Polygon'),
             paint: { 'fill-color': p.fill, 'fill-opacity': p.fillOpacity, 'fill-antialias': true } };
  }
  function lineLayer(p) {
    const wide = p.kind === 'road' || p.kind === 'water';
    return { id: p.id + ':line', type: 'line', filter: only('Polygon', 'LineString'),
             layout: { 'line-join': 'round', 'line-cap': 'round' },
             paint: { 'line-color': p.line, 'line-opacity': p.kind === 'boundary' ? 0.7 : 0.9,
                      'line-width': growing(2, wide ? 0.7 : 0.5, 8, 1, 14, wide ? 3.5 : 1.6),
                      ...(p.kind === 'boundary' && { 'line-dasharray': [3, 2] }) } };
  }
  function pointLayer(p, palette) {
    return { id: p.id + ':point', type: 'circle', filter: only('Point'),
             paint: { 'circle-color': p.color, 'circle-radius': growing(2, 2.5, 10, 5),
                      'circle-stroke-color': palette.halo, 'circle-stroke-width': 1.2 } };
  }
  function labelLayer(p, palette) {
    const isLine = p.kind === 'road' || p.kind === 'boundary';
    const isCentred = isLine || p.kind === 'area' || p.kind === 'label';
    return { id: p.id + ':label', type: 'symbol', filter: isLine ? only('LineString') : only('Point', 'Polygon'),
             layout: { 'text-field': ['to-string', ['get', p.label]], 'text-font': FONT,
                       'text-size': growing(1, 10, 5, 13, 12, 14), 'text-max-width': 8, 'text-padding': 6,
                       'symbol-placement': isLine ? 'line' : 'point',
                       'text-variable-anchor': isCentred ? ['center'] : ['top', 'bottom', 'left', 'right'],
                       'text-radial-offset': isCentred ? 0 : 0.6 },
             paint: { 'text-color': palette.text, 'text-halo-color': palette.halo, 'text-halo-width': 1.3 } };
  }

  function selectedLayers(palette) {
    const paint = palette.selected;
    return [
      { id: 'selected:fill', type: 'fill', source: 'selected', filter: only('Polygon'),
        paint: { 'fill-color': paint, 'fill-opacity': 0.22 } },
      { id: 'selected:line', type: 'line', source: 'selected', filter: only('Polygon', 'LineString'),
        paint: { 'line-color': paint, 'line-width': 2.5 } },
      { id: 'selected:point', type: 'circle', source: 'selected', filter: only('Point'),
        paint: { 'circle-color': paint, 'circle-radius': 7, 'circle-opacity': 0.5, 'circle-stroke-color': paint,
                 'circle-stroke-width': 2 } },
    ];
  }

  // `source` is what the map gets its tiles from, `layers` the vector_layers of its TileJSON, and
  // `hidden` the ids of those that are not drawn. Returns the style and what to list.
  return function mapStyle({ source, layers, dark, hidden, selected }) {
    const palette = dark ? DARK : LIGHT;
    const base = { version: 8, sources: { tiles: source } };
    if (source.type === 'raster') {
      const background = { id: 'background', type: 'background', paint: { 'background-color': palette.ground } };
      return { listed: [], style: { ...base, layers: [background, { id: 'raster', type: 'raster', source: 'tiles' }] } };
    }
    const plans = layers.map((layer, index) => plan(layer, index, palette));
    const has = (...kinds) => plans.some((p) => kinds.includes(p.kind));
    const isSea = has('area', 'land') && !plans.some((p) => p.kind === 'water' && /ocean|sea|^water$/i.test(p.id));
    // Points with names are better placed than what can be worked out from parts of areas.
    const named = plans.some((p) => ['label', 'place'].includes(p.kind) && p.label !== undefined);
    const background = { id: 'background', type: 'background',
                         paint: { 'background-color': isSea ? palette.sea : palette.ground } };
    const drawn = (p, layer) => ({ ...layer, source: 'tiles', 'source-layer': p.id,
                                   layout: { ...layer.layout, visibility: hidden.has(p.id) ? 'none' : 'visible' } });
    const all = (make, which = () => true) => plans.filter(which).map((p) => drawn(p, make(p, palette)));
    // What is there to be read has no dot; without names the dot is all there is.
    const isText = (p) => p.kind === 'label' && p.label !== undefined;
    return {
      listed: plans.map(({ id, swatch }) => ({ id, swatch })),
      style: {
        ...base,
        sources: { ...base.sources, selected: { type: 'geojson', data: selected } },
        layers: [
          background, ...all(fillLayer), ...all(lineLayer), ...all(pointLayer, (p) => !isText(p)), ...selectedLayers(palette),
          ...all(labelLayer, (p) => p.label !== undefined && !(p.kind === 'area' && named)),
        ],
      },
    };
  };
})();
