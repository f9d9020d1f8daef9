import { createRoute } from '@tanstack/react-router';
import { lazyScreen } from '../../layout/lazy-screen.tsx';
import { rootRoute } from '../../layout/root.tsx';

/** The request of an assistant, as it came: the router reads some texts as numbers, and writes them in another way. */
export const REQUEST = location.search;

export const consentRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'consent',
  validateSearch: (search: Record<string, unknown>) => search,
  component: lazyScreen(() => import('./screen.tsx'), 'Screen'),
});
