// The map of one pack. The server says in the page which pack it is and how to get at its tiles; all
// addresses are relative to the page, so that it works behind a proxy and asks no other server.
'use strict';

(() => {
  const page = document.documentElement.dataset;
  const $ = (id) => document.getElementById(id);
  const here = (path) => new URL(path, location.href).href;
  const NOTHING = { type: 'FeatureCollection', features: [] };
  const FEATURES_SHOWN = 8;
  const TOAST_MS = 8000;
  const PHONE = matchMedia('(max-width: 640px)');
  const DARK = matchMedia('(prefers-color-scheme: dark)');
  const COARSE = matchMedia('(pointer: coarse)');

  // Text never becomes markup: names, properties and errors are other people's.
  function element(tag, text = '', className = '') {
    const made = document.createElement(tag);
    made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  function fail(title, text, links = []) {
    page.state = 'failed';
    $('problem-title').textContent = title;
    $('problem-text').textContent = text;
    $('problem-links').replaceChildren(...links.map(([label, href]) => {
      const item = element('li');
      const link = element('a', label);
      link.href = href;
      item.append(link);
      return item;
    }));
    $('problem').hidden = false;
    $('panel').hidden = true;
  }

  let toastTimer;
  function toast(text) {
    $('toast').textContent = text;
    $('toast').hidden = false;
    clearTimeout(toastTimer);
    toastTimer = setTimeout(() => { $('toast').hidden = true; }, TOAST_MS);
  }

  async function fetchJson(path) {
    const answer = await fetch(here(path), { headers: { Accept: 'application/json' } });
    const body = await answer.json().catch(() => null);
    if (answer.ok && body !== null) return body;
    const error = new Error(body?.error?.message ?? `the server answered ${answer.status}`);
    error.status = answer.status;
    throw error;
  }

  async function sayMissing() {
    const answer = await fetchJson('../packs').catch(() => ({}));
    const names = (Array.isArray(answer) ? answer : answer.packs ?? []).map((each) => each.name ?? each);
    fail(`There is no pack “${page.pack}” here`,
         names.length ? 'These are mounted:' : 'None is mounted. “ron pack add NAME FILE” mounts one.',
         names.map((name) => [name, here(encodeURIComponent(name))]));
  }

  const hasWebGl = () => document.createElement('canvas').getContext('webgl2') !== null;

  // Where the map gets its tiles: PMTiles by ranges of the whole file, others one by one.
  function sourceOf(tilejson) {
    const isVector = page.tiles === 'mvt';
    const common = { type: isVector ? 'vector' : 'raster', attribution: tilejson.attribution ?? '' };
    if (!isVector) common.tileSize = 256;
    if (page.format === 'pmtiles') {
      maplibregl.addProtocol('pmtiles', new pmtiles.Protocol().tile);
      return { ...common, url: 'pmtiles://' + here(`../packs/${page.pack}.pmtiles`) };
    }
    return { ...common, tiles: [decodeURI(here(`../tiles/${page.pack}/{z}/{x}/{y}`))],
             minzoom: tilejson.minzoom ?? 0, maxzoom: tilejson.maxzoom ?? 22,
             ...(tilejson.bounds && { bounds: tilejson.bounds }) };
  }

  // What there is fills the window; a map of the whole world is cut rather than small.
  function showAll(map, tilejson) {
    const [west, south, east, north] = tilejson.bounds ?? [-180, -85, 180, 85];
    const side = PHONE.matches ? 24 : 48;
    if (east - west > 300) {
      const { clientWidth: width, clientHeight: height } = map.getContainer();
      const zoom = Math.log2(Math.max(width, height) / 512);
      map.jumpTo({ center: [10, 35], zoom: Math.max(zoom, tilejson.minzoom ?? 0) });
      return;
    }
    map.fitBounds([[west, south], [east, north]], { animate: false, padding: side, maxZoom: tilejson.maxzoom ?? 14 });
    const least = tilejson.minzoom ?? 0;
    if (map.getZoom() < least) map.jumpTo({ center: [(west + east) / 2, (south + north) / 2], zoom: least });
  }

  function factsOf(tilejson) {
    const kind = page.tiles === 'mvt' ? 'vector' : page.tiles.toUpperCase();
    const format = { pmtiles: 'PMTiles', mbtiles: 'MBTiles' }[page.format] ?? page.format;
    return `${format} · ${kind} · zoom ${tilejson.minzoom ?? 0}–${tilejson.maxzoom ?? '?'}`;
  }

  function listLayers(map, tilejson, listed, hidden) {
    const zooms = new Map((tilejson.vector_layers ?? []).map((each) => [each.id, each]));
    $('layers').replaceChildren(...listed.map(({ id, swatch }) => {
      const label = element('label');
      const box = element('input');
      box.type = 'checkbox';
      box.checked = !hidden.has(id);
      box.dataset.layer = id;
      box.addEventListener('change', () => {
        hidden[box.checked ? 'delete' : 'add'](id);
        for (const layer of map.getStyle().layers.filter((each) => each['source-layer'] === id)) {
          map.setLayoutProperty(layer.id, 'visibility', box.checked ? 'visible' : 'none');
        }
      });
      const color = element('span', '', 'swatch');
      color.style.backgroundColor = swatch;
      const { minzoom, maxzoom } = zooms.get(id) ?? {};
      const range = minzoom === undefined ? '' : `z${minzoom}–${maxzoom ?? ''}`;
      label.append(box, color, element('span', id, 'name'), element('span', range, 'zooms'));
      const item = element('li');
      item.append(label);
      return item;
    }));
  }

  // What is at a click, the topmost first: areas there, points and lines close by. The same thing
  // once, not once per tile.
  function inspect(map, point) {
    const near = COARSE.matches ? 12 : 4;
    const box = [[point.x - near, point.y - near], [point.x + near, point.y + near]];
    const isArea = (feature) => feature.geometry.type.endsWith('Polygon');
    const seen = new Set();
    const found = [...map.queryRenderedFeatures(box).filter((feature) => !isArea(feature)),
                   ...map.queryRenderedFeatures(point).filter(isArea)];
    return found.filter((feature) => {
      if (feature.source !== 'tiles') return false;
      const key = JSON.stringify([feature.sourceLayer, feature.id, feature.properties]);
      return !seen.has(key) && seen.add(key);
    }).slice(0, FEATURES_SHOWN);
  }

  function describe(feature) {
    const { name, NAME, title, label } = feature.properties;
    const heading = element('h2', String(name ?? NAME ?? title ?? label ?? feature.geometry.type) + ' ');
    heading.append(element('span', feature.sourceLayer, 'layer'));
    const list = element('dl');
    if (feature.id !== undefined) list.append(element('dt', 'id'), element('dd', String(feature.id)));
    for (const [key, value] of Object.entries(feature.properties)) {
      list.append(element('dt', key), element('dd', String(value)));
    }
    return [heading, list];
  }

  function select(map, features) {
    $('feature').hidden = features.length === 0;
    $('feature-body').replaceChildren(...features.flatMap(describe));
    $('feature-body').scrollTop = 0;
    const shapes = features.map(({ geometry }) => ({ type: 'Feature', properties: {}, geometry }));
    const data = { ...NOTHING, features: shapes };
    map.getSource('selected')?.setData(data);
    return data;
  }

  function addControls(map) {
    map.addControl(new maplibregl.NavigationControl({ visualizePitch: true }), 'top-right');
    if (document.fullscreenEnabled) map.addControl(new maplibregl.FullscreenControl(), 'top-right');
    map.addControl(new maplibregl.ScaleControl(), 'bottom-left');
    const licenses = `<a href="${here(page.licenses)}">Licenses</a>`;
    map.addControl(new maplibregl.AttributionControl({ compact: PHONE.matches, customAttribution: licenses }),
                   'bottom-right');
  }

  // Errors of single tiles do not end the map; a tile that is not there is no error.
  function watch(map) {
    map.on('error', ({ error }) => {
      if (error?.status === 404 || error?.name === 'AbortError') return;
      toast(`Some of the map could not be loaded: ${error?.message ?? 'no reason given'}`);
    });
    map.on('webglcontextlost', () => toast('The browser took the map’s graphics away; reload the page.'));
    map.on('load', () => { page.state = 'loaded'; });
    map.on('idle', () => { if (page.state === 'loaded') page.state = 'ready'; });
  }

  function start(tilejson) {
    const hidden = new Set();
    let selected = NOTHING;
    const source = sourceOf(tilejson);
    const layers = tilejson.vector_layers ?? [];
    const styled = () => mapStyle({ source, layers, dark: DARK.matches, hidden, selected });
    let { style, listed } = styled();
    maplibregl.setWorkerUrl(here(page.worker));
    const isPlaceGiven = location.hash !== '';  // before the map writes its own there
    const map = new maplibregl.Map({ container: 'map', style, hash: true, attributionControl: false,
                                     maxZoom: Math.max(22, tilejson.maxzoom ?? 0), maxPitch: 60 });
    window.ron = { map };  // for whoever opens the console
    if (!isPlaceGiven) showAll(map, tilejson);
    watch(map);
    addControls(map);
    listLayers(map, tilejson, listed, hidden);
    map.on('click', ({ point }) => { selected = select(map, inspect(map, point)); });
    $('feature-close').addEventListener('click', () => { selected = select(map, []); });
    document.addEventListener('keydown', ({ key }) => { if (key === 'Escape') selected = select(map, []); });
    DARK.addEventListener('change', () => {
      ({ style, listed } = styled());
      page.state = 'loaded';
      map.setStyle(style);
      listLayers(map, tilejson, listed, hidden);
    });
  }

  function aboutPack(tilejson) {
    const name = tilejson.name || page.pack;
    $('title').textContent = name;
    document.title = `${name} · map`;
    $('facts').textContent = factsOf(tilejson);
    $('description').textContent = tilejson.description ?? '';
    $('description').hidden = !tilejson.description;
    $('hint').hidden = page.tiles !== 'mvt';
  }

  function foldPanel(open) {
    $('panel-toggle').setAttribute('aria-expanded', String(open));
  }

  async function main() {
    $('panel-toggle').addEventListener('click', () =>
      foldPanel($('panel-toggle').getAttribute('aria-expanded') !== 'true'));
    foldPanel(!PHONE.matches);
    if (page.format && !hasWebGl()) {
      return fail('This browser cannot draw maps',
                  'The map needs WebGL 2, which is switched off or missing here. The tiles themselves are fine:',
                  [['TileJSON', here(`../tiles/${page.pack}.json`)]]);
    }
    try {
      const tilejson = await fetchJson(`../tiles/${encodeURIComponent(page.pack)}.json`);
      // It was mounted since the page was asked for.
      if (!page.format) return location.reload();
      aboutPack(tilejson);
      start(tilejson);
    } catch (error) {
      if (error.status === 404) return sayMissing();
      fail('The map cannot be shown', error.message);
    }
  }

  main();
})();
