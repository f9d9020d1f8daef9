import { createRoute } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { lazyScreen } from '../../layout/lazy-screen.tsx';
import { rootRoute } from '../../layout/root.tsx';
import { oneOf } from '../../search.ts';

export const RANGES = ['day', 'week', 'month'] as const;
export type Range = (typeof RANGES)[number];

export const overviewRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  validateSearch: z.object({
    /** The period of the chart and of the lists below it. */
    range: oneOf(RANGES),
  }),
  component: lazyScreen(() => import('./screen.tsx'), 'Screen'),
});
