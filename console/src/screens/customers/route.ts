import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../frame/root';

export const customersRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'customers',
  component: lazyRouteComponent(() => import('./screen'), 'Screen'),
});
