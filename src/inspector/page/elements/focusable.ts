/** For `ref`: lets the keyboard focus an element to scroll it, which not every browser does by itself. */
export function makeFocusable(element: HTMLElement | null): void {
  if (element !== null) element.tabIndex = 0;
}
