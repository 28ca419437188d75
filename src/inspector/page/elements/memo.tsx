import { Component, type ComponentClass, type FunctionComponent, type VNode } from "preact";

/** The component, rendered again only when a property changed: most of the page stays as it is while a slider moves. */
export function memo<Properties extends object>(
  Inner: FunctionComponent<Properties>,
): ComponentClass<Properties> {
  return class extends Component<Properties> {
    override shouldComponentUpdate(next: Properties): boolean {
      const now: Readonly<Record<string, unknown>> = { ...this.props };
      const names = Object.keys(next);
      return (
        names.length !== Object.keys(now).length ||
        Object.entries(next).some(([name, value]) => now[name] !== value)
      );
    }

    override render(): VNode {
      return <Inner {...this.props} />;
    }
  };
}
