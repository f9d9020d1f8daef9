import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { LICENSE_DATA_TYPES } from '../../../../src/lib/enums';
import { rootRoute } from '../../frame/root';
import { id, oneOf, open, text } from '../../search';

const search = z.object({
  q: text,
  licenseDataType: oneOf(LICENSE_DATA_TYPES),
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
