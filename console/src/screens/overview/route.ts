import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { rootRoute } from '../../frame/root';
import { oneOf } from '../../search';

export const RANGES = ['day', 'week', 'month'] as const;
export type Range = (typeof RANGES)[number];

export const overviewRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  validateSearch: z.object({
    /** The time that the chart and the lists below it look back. */
    range: oneOf(RANGES),
  }),
  component: lazyRouteComponent(() => import('./screen'), 'Screen'),
});
