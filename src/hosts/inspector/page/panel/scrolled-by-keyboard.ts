/** Lets the keyboard reach an element in order to scroll it; not every browser does so by itself. For `ref`. */
export function scrolledByKeyboard(element: HTMLElement | null): void {
  if (element !== null) element.tabIndex = 0;
}
