import { readFile } from "node:fs/promises";

/** Reads the built page: beside the command line's bundle, or from the project's dist when this runs from source. */
export async function readPageAssets(places: readonly URL[] = PLACES): Promise<PageAssets> {
  for (const place of places) {
    try {
      const [script, style] = await Promise.all(
        ["app.js", "app.css"].map((name) => readFile(new URL(name, place), "utf8")),
      );
      if (script !== undefined && style !== undefined) return { script, style };
    } catch {
      // Not built there.
    }
  }
  throw new Error("The page is not there: it was not built (`npm run build` makes dist/inspector)");
}

/** The page's built script and stylesheet. */
export interface PageAssets {
  readonly script: string;
  readonly style: string;
}

/** Only places inside the package: the script found there is run. */
const PLACES: readonly URL[] = (
  import.meta.url.endsWith("/page-assets.ts")
    ? ["../../../dist/inspector/"]
    : ["../inspector/", "../dist/inspector/"]
).map((place) => new URL(place, import.meta.url));
