import { createRoute } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { lazyScreen } from '../../layout/lazy-screen.tsx';
import { rootRoute } from '../../layout/root.tsx';
import { id } from '../../search.ts';

const params = {
  parse: ({ licenseId }: { licenseId: string }) => ({ licenseId: Number(licenseId) }),
  stringify: ({ licenseId }: { licenseId: number }) => ({ licenseId: String(licenseId) }),
};

export const licenseRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'licenses/$licenseId',
  params,
  /** `open` is the request in the dialog. */
  validateSearch: z.object({ open: id }),
  component: lazyScreen(() => import('./screen.tsx'), 'Screen'),
});

export const licenseEditRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'licenses/$licenseId/edit',
  params,
  component: lazyScreen(() => import('./edit.tsx'), 'Screen'),
});
