// The bundle of tools/bundle-web as a constant; nothing in a build without the map preview.
  .section .rodata
  .globl ron_web_bundle
  .globl ron_web_bundle_end
  .balign 16
ron_web_bundle:
#ifdef RON_WEB_BUNDLE
  .incbin RON_WEB_BUNDLE
#endif
ron_web_bundle_end:
  .byte 0
  .section .note.GNU-stack,"",%progbits
