import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { LICENSE_DATA_TYPES } from '../../../../src/lib/enums';
import { rootRoute } from '../../frame/root';
import { id, open, text } from '../../search';

const search = z.object({
  q: text,
  licenseDataType: z.catch(z.optional(z.enum(LICENSE_DATA_TYPES)), undefined),
  productId: id,
  after: id,
  open,
});
export type BlacklistSearch = z.output<typeof search>;

export const blacklistRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'blacklist',
  validateSearch: search,
  component: lazyRouteComponent(() => import('./screen'), 'Screen'),
});
