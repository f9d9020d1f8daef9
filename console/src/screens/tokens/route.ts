import { createRoute } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { lazyScreen } from '../../layout/lazy-screen.tsx';
import { rootRoute } from '../../layout/root.tsx';
import { idParams, isNew } from '../../search.ts';

export const tokensRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'tokens',
  validateSearch: z.object({ open: isNew }),
  component: lazyScreen(() => import('./screen.tsx'), 'Screen'),
});

export const tokenRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'tokens/$id',
  params: idParams,
  component: lazyScreen(() => import('./token.tsx'), 'Screen'),
});

export const tokenEditRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'tokens/$id/edit',
  params: idParams,
  component: lazyScreen(() => import('./token.tsx'), 'EditScreen'),
});
