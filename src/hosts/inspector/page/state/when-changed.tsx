import { Component, type ComponentClass, type FunctionComponent, type VNode } from "preact";

/** The same, rendered again only when one of its properties is another: most of the page rests while a slider moves. */
export function whenChanged<Properties extends object>(
  Shown: FunctionComponent<Properties>,
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
      return <Shown {...this.props} />;
    }
  };
}
