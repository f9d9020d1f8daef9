import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../frame/root';

export const blacklistRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'blacklist',
  component: lazyRouteComponent(() => import('./screen'), 'Screen'),
});
