// Packages of the host: they are inside OpenCode, and no dependency of ours.
declare module "solid-js" {
  export const createSignal: import("./drawing.ts").Drawing["createSignal"];
}

declare module "@opentui/solid" {
  type Drawing = import("./drawing.ts").Drawing;
  export const createElement: Drawing["createElement"];
  export const insert: Drawing["insert"];
  export const setProp: Drawing["setProp"];
  export const effect: Drawing["effect"];
}
