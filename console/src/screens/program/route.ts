import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../frame/root';

export const programRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'program',
  component: lazyRouteComponent(() => import('./screen'), 'Screen'),
});
