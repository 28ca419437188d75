import { useEffect, useState } from "preact/hooks";

/** Light or dark as the system prefers, until the reader chooses. */
export function useTheme(): { readonly theme: Theme; readonly toggle: () => void } {
  const [theme, setTheme] = useState<Theme>(() => (dark().matches ? "dark" : "light"));
  useEffect(() => {
    const follow = ({ matches }: MediaQueryListEvent): void => setTheme(matches ? "dark" : "light");
    const media = dark();
    media.addEventListener("change", follow);
    return () => media.removeEventListener("change", follow);
  }, []);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  return { theme, toggle: () => setTheme((now) => (now === "dark" ? "light" : "dark")) };
}

export type Theme = "light" | "dark";

function dark(): MediaQueryList {
  return matchMedia("(prefers-color-scheme: dark)");
}
