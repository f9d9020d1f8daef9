import { createRoute } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { lazyScreen } from '../../layout/lazy-screen.tsx';
import { rootRoute } from '../../layout/root.tsx';
import { idParams, isNew } from '../../search.ts';

export const productsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'products',
  validateSearch: z.object({ open: isNew }),
  component: lazyScreen(() => import('./screen.tsx'), 'Screen'),
});

export const productRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'products/$id',
  params: idParams,
  component: lazyScreen(() => import('./product.tsx'), 'Screen'),
});

export const productEditRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'products/$id/edit',
  params: idParams,
  component: lazyScreen(() => import('./product.tsx'), 'EditScreen'),
});
