import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { rootRoute } from '../../layout/root.tsx';
import { open } from '../../search.ts';

export const productsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'products',
  validateSearch: z.object({ open }),
  component: lazyRouteComponent(() => import('./screen.tsx'), 'Screen'),
});
