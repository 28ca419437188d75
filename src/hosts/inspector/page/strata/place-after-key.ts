import type { BandLayout } from "./lay-bands.ts";

/** The key of the band that a key of the keyboard leads to; undefined when it leads nowhere. */
export function placeAfterKey(
  pressed: string,
  layout: BandLayout,
  active: string | undefined,
): string | undefined {
  const { bands } = layout;
  const from = (active === undefined ? undefined : layout.places.get(active)) ?? -1;
  switch (pressed) {
    case "ArrowDown":
      return next(layout, from, 1);
    case "ArrowUp":
      return next(layout, from < 0 ? bands.length : from, -1);
    case "PageDown":
      return (
        next(layout, Math.min(bands.length - 2, from + PAGE_BANDS - 1), 1) ?? next(layout, bands.length, -1)
      );
    case "PageUp":
      return next(layout, Math.max(1, from - PAGE_BANDS + 1), -1) ?? next(layout, -1, 1);
    case "Home":
      return next(layout, -1, 1);
    case "End":
      return next(layout, bands.length, -1);
    case "ArrowRight":
      return ofOtherMessage(layout, from, 1);
    case "ArrowLeft":
      return ofOtherMessage(layout, from, -1);
    default:
      return undefined;
  }
}

const PAGE_BANDS = 12;

function next({ bands }: BandLayout, from: number, step: 1 | -1): string | undefined {
  for (let place = from + step; place >= 0 && place < bands.length; place += step) {
    const band = bands[place];
    if (band !== undefined && band.type !== "line") return band.key;
  }
  return undefined;
}

/** The first item of the next message, or of the one before. */
function ofOtherMessage({ bands }: BandLayout, from: number, step: 1 | -1): string | undefined {
  for (let place = from + step; place >= 0 && place < bands.length; place += step) {
    const band = bands[place];
    if (band === undefined || band.type === "line") continue;
    if (band.type !== "item" || band.isFirst) return band.key;
  }
  return undefined;
}
