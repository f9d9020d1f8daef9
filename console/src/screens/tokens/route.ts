import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { rootRoute } from '../../layout/root.tsx';
import { open } from '../../search.ts';

export const tokensRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'tokens',
  validateSearch: z.object({ open }),
  component: lazyRouteComponent(() => import('./screen.tsx'), 'Screen'),
});
