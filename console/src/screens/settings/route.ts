import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../layout/root.tsx';

export const settingsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'settings',
  component: lazyRouteComponent(() => import('./screen.tsx'), 'Screen'),
});
