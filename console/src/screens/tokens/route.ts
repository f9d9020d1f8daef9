import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../frame/root';

export const tokensRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'tokens',
  component: lazyRouteComponent(() => import('./screen'), 'Screen'),
});
