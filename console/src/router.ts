import { createRouter, parseSearchWith, stringifySearchWith } from '@tanstack/react-router';
import { Skeleton } from './components/page.tsx';
import { NotFound, ScreenFailure } from './layout/layout.tsx';
import { rootRoute } from './layout/root.tsx';
import { blacklistRoute } from './screens/blacklist/route.ts';
import { consentRoute } from './screens/consent/route.ts';
import { customerEditRoute, customerRoute, customersRoute } from './screens/customers/route.ts';
import { eventsRoute, mineRoute } from './screens/events/route.ts';
import { historyRoute } from './screens/history/route.ts';
import { importRoute } from './screens/import/route.ts';
import { licenseEditRoute, licenseRoute } from './screens/license/route.ts';
import { licenseNewRoute, licensesCreatedRoute, licensesRoute } from './screens/licenses/route.ts';
import { mailRoute } from './screens/mail/route.ts';
import {
  marketEditRoute,
  marketRoute,
  marketsRoute,
  purchasesRoute,
} from './screens/markets/route.ts';
import { overviewRoute } from './screens/overview/route.ts';
import { productEditRoute, productRoute, productsRoute } from './screens/products/route.ts';
import { programRoute } from './screens/program/route.ts';
import { settingsRoute } from './screens/settings/route.ts';
import { tokenEditRoute, tokenRoute, tokensRoute } from './screens/tokens/route.ts';
import { webhookEditRoute, webhookRoute, webhooksRoute } from './screens/webhooks/route.ts';
import { parseValue } from './search.ts';

/** Each screen has a folder with `route.ts`, which checks the address, and `screen.tsx`, which is loaded on demand. */
export const router = createRouter({
  basepath: '/console',
  parseSearch: parseSearchWith(parseValue),
  stringifySearch: stringifySearchWith(JSON.stringify, parseValue),
  // A parameter of somebody else, such as `utm_source`, would become a filter that the service rejects.
  search: { strict: true },
  routeTree: rootRoute.addChildren([
    overviewRoute,
    licensesRoute,
    licenseNewRoute,
    licensesCreatedRoute,
    licenseRoute,
    licenseEditRoute,
    historyRoute,
    productsRoute,
    productRoute,
    productEditRoute,
    customersRoute,
    customerRoute,
    customerEditRoute,
    blacklistRoute,
    tokensRoute,
    tokenRoute,
    tokenEditRoute,
    marketsRoute,
    marketRoute,
    marketEditRoute,
    purchasesRoute,
    webhooksRoute,
    webhookRoute,
    webhookEditRoute,
    eventsRoute,
    mineRoute,
    importRoute,
    programRoute,
    settingsRoute,
    mailRoute,
    consentRoute,
  ]),
  defaultPreload: 'intent',
  defaultPendingComponent: Skeleton,
  defaultErrorComponent: ScreenFailure,
  defaultNotFoundComponent: NotFound,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

declare module '@tanstack/history' {
  interface HistoryState {
    /** The pages of a list before this one. */
    passed?: readonly { after: number | undefined; rows: number }[];
  }
}
