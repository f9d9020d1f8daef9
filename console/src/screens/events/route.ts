import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../frame/root';

export const eventsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'events',
  component: lazyRouteComponent(() => import('./screen'), 'Screen'),
});
