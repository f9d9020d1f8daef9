import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { rootRoute } from '../../frame/root';
import { id, text } from '../../search';

/** What the address says. */
const search = z.object({
  licenseKey: text,
  ip: text,
  hwid: text,
  productId: id,
  after: id,
});

export const historyRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'history',
  validateSearch: search,
  component: lazyRouteComponent(() => import('./screen'), 'Screen'),
});
