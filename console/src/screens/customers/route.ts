import { createRoute } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { lazyScreen } from '../../layout/lazy-screen.tsx';
import { rootRoute } from '../../layout/root.tsx';
import { id, idParams, isNew, metadata, text } from '../../search.ts';

export const customersRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'customers',
  validateSearch: z.object({ q: text, metadata, after: id, open: isNew }),
  component: lazyScreen(() => import('./screen.tsx'), 'Screen'),
});

export const customerRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'customers/$id',
  params: idParams,
  /** `open` is the request in the dialog. */
  validateSearch: z.object({ open: id }),
  component: lazyScreen(() => import('./customer.tsx'), 'Screen'),
});

export const customerEditRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'customers/$id/edit',
  params: idParams,
  component: lazyScreen(() => import('./customer.tsx'), 'EditScreen'),
});
