import { DELIVERY_STATES } from '@licet/contract/enums';
import { createRoute } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { lazyScreen } from '../../layout/lazy-screen.tsx';
import { rootRoute } from '../../layout/root.tsx';
import { id, idParams, isNew, oneOf } from '../../search.ts';

export const webhooksRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'webhooks',
  validateSearch: z.object({ open: isNew }),
  component: lazyScreen(() => import('./screen.tsx'), 'Screen'),
});

export const webhookRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'webhooks/$id',
  params: idParams,
  /** The state of the listed deliveries, and the one in the dialog. */
  validateSearch: z.object({ state: oneOf(DELIVERY_STATES), open: id }),
  component: lazyScreen(() => import('./webhook.tsx'), 'Screen'),
});

export const webhookEditRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'webhooks/$id/edit',
  params: idParams,
  component: lazyScreen(() => import('./webhook.tsx'), 'EditScreen'),
});
