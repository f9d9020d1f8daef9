import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { rootRoute } from '../../frame/root';
import { id } from '../../search';
import { FILES } from './files';

/** What the address says. */
const search = z.object({
  productId: id,
  file: z.catch(z.optional(z.enum(FILES)), undefined),
});

export const programRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'program',
  validateSearch: search,
  component: lazyRouteComponent(() => import('./screen'), 'Screen'),
});
