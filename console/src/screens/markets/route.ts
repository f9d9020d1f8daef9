import { PURCHASE_STATES } from '@licet/contract/enums';
import { createRoute } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { lazyScreen } from '../../layout/lazy-screen.tsx';
import { rootRoute } from '../../layout/root.tsx';
import { id, idParams, isNew, oneOf, text } from '../../search.ts';

/** In the place of a state: the purchases that need no license. */
export const IGNORED = 'IGNORED';

export const marketsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'markets',
  validateSearch: z.object({ open: isNew }),
  component: lazyScreen(() => import('./screen.tsx'), 'Screen'),
});

export const marketRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'markets/$id',
  params: idParams,
  /** `open` is the request in the dialog. */
  validateSearch: z.object({ open: id }),
  component: lazyScreen(() => import('./market.tsx'), 'Screen'),
});

export const marketEditRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'markets/$id/edit',
  params: idParams,
  component: lazyScreen(() => import('./market.tsx'), 'EditScreen'),
});

export const purchasesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'purchases',
  /** `open` is the purchase in the pane. */
  validateSearch: z.object({
    q: text,
    state: oneOf([...PURCHASE_STATES, IGNORED]),
    marketId: id,
    sort: oneOf(['id']),
    after: id,
    open: id,
  }),
  component: lazyScreen(() => import('./purchases.tsx'), 'Screen'),
});
