import type { ComponentType } from 'react';

/**
 * The component of a route, from a file that is loaded on demand. `lazyRouteComponent` of the router would reload the
 * page if that fails, which without a network leads to the browser's own page.
 */
export function lazyScreen<Name extends string>(
  load: () => Promise<Record<Name, ComponentType>>,
  name: Name,
) {
  let Screen: ComponentType | undefined;
  // The router calls it before it shows the screen, and shows its error.
  const preload = async (): Promise<void> => {
    Screen ??= (await load())[name];
  };
  return Object.assign(() => Screen && <Screen />, { preload });
}
