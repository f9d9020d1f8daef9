import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { rootRoute } from '../../layout/root.tsx';
import { idParams, isNew } from '../../search.ts';

export const tokensRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'tokens',
  validateSearch: z.object({ open: isNew }),
  component: lazyRouteComponent(() => import('./screen.tsx'), 'Screen'),
});

export const tokenRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'tokens/$id',
  params: idParams,
  component: lazyRouteComponent(() => import('./token.tsx'), 'Screen'),
});

export const tokenEditRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'tokens/$id/edit',
  params: idParams,
  component: lazyRouteComponent(() => import('./token.tsx'), 'EditScreen'),
});
