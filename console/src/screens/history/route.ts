import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../frame/root';

export const historyRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'history',
  component: lazyRouteComponent(() => import('./screen'), 'Screen'),
});
