import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../frame/root';

export const productsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'products',
  component: lazyRouteComponent(() => import('./screen'), 'Screen'),
});
