import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../layout/root.tsx';

export const importRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'import',
  component: lazyRouteComponent(() => import('./screen.tsx'), 'Screen'),
});
