import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { rootRoute } from '../../frame/root';
import { id, oneOf } from '../../search';
import { FILES } from './files';

/** The parameters of the address. */
const search = z.object({
  productId: id,
  file: oneOf(FILES),
});

export const programRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'program',
  validateSearch: search,
  component: lazyRouteComponent(() => import('./screen'), 'Screen'),
});
