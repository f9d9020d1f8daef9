import { createRoute } from '@tanstack/react-router';
import { lazyScreen } from '../../layout/lazy-screen.tsx';
import { rootRoute } from '../../layout/root.tsx';

export const importRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'import',
  component: lazyScreen(() => import('./screen.tsx'), 'Screen'),
});
