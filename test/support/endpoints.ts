import type { ApiIntent } from '@licet/contract/enums';

/** Endpoints that need no token [4.1]; the second is the preflight of the first (1.1). */
export const PUBLIC = ['GET /api/v2/healthy', 'OPTIONS /api/v2/healthy'];

/** Every intent, in the order of errors [5]. */
export const API_INTENTS: readonly ApiIntent[] = [
  'PRODUCTS_READ',
  'PRODUCTS_READ_WRITE',
  'LICENSE_VALIDATE',
  'LICENSES_READ',
  'LICENSES_READ_WRITE',
  'BLACKLISTS_READ',
  'BLACKLISTS_READ_WRITE',
  'REQUESTS_READ',
  'CUSTOMERS_READ',
  'ALL_READ',
  'ALL_READ_WRITE',
];

type Resource = 'PRODUCTS' | 'LICENSES' | 'BLACKLISTS';

export const readSet = (resource: Resource): readonly ApiIntent[] => [
  `${resource}_READ`,
  `${resource}_READ_WRITE`,
  'ALL_READ',
  'ALL_READ_WRITE',
];
export const writeSet = (resource: Resource): readonly ApiIntent[] => [
  `${resource}_READ_WRITE`,
  'ALL_READ_WRITE',
];

/**
 * The intents of every endpoint, as the interface's tables have them [4], in the order of errors. Typed
 * here once more, so that the service is not its own measure.
 */
export const ENDPOINTS: Record<string, readonly ApiIntent[]> = {
  'GET /api/v2/ping': API_INTENTS,
  'GET /api/v2/platforms': API_INTENTS,
  'GET /api/v2/address': API_INTENTS,
  'GET /api/v2/products': readSet('PRODUCTS'),
  'GET /api/v2/products/:id': readSet('PRODUCTS'),
  'POST /api/v2/products': writeSet('PRODUCTS'),
  'PUT /api/v2/products/:id': writeSet('PRODUCTS'),
  'DELETE /api/v2/products/:id': writeSet('PRODUCTS'),
  'GET /api/v2/licenses': readSet('LICENSES'),
  'GET /api/v2/licenses/:id': readSet('LICENSES'),
  'GET /api/v2/licenses/:id/installations': readSet('LICENSES'),
  'GET /api/v2/licenses/:id/slots': readSet('LICENSES'),
  'POST /api/v2/licenses': writeSet('LICENSES'),
  'POST /api/v2/licenses/batch': writeSet('LICENSES'),
  'POST /api/v2/licenses/:id/rotate': writeSet('LICENSES'),
  'POST /api/v2/licenses/:id/transfer': writeSet('LICENSES'),
  'GET /api/v2/licenses/by-license-key/:licenseKey': readSet('LICENSES'),
  'GET /api/v2/licenses/by-customer-email/:email': readSet('LICENSES'),
  'GET /api/v2/licenses/by-platform/:platform/:platformId': readSet('LICENSES'),
  'GET /api/v2/licenses/by-customer-id/:customerId': readSet('LICENSES'),
  'GET /api/v2/licenses/by-product-id/:productId': readSet('LICENSES'),
  'GET /api/v2/licenses/by-chat-id/:chatId': readSet('LICENSES'),
  'GET /api/v2/licenses/by-discord-id/:chatId': readSet('LICENSES'),
  'PUT /api/v2/licenses/:id': writeSet('LICENSES'),
  'DELETE /api/v2/licenses/:id': writeSet('LICENSES'),
  'GET /api/v2/blacklists': readSet('BLACKLISTS'),
  'GET /api/v2/blacklists/:id': readSet('BLACKLISTS'),
  'POST /api/v2/blacklists': writeSet('BLACKLISTS'),
  'PUT /api/v2/blacklists/:id': writeSet('BLACKLISTS'),
  'DELETE /api/v2/blacklists/:id': writeSet('BLACKLISTS'),
  'GET /api/v2/requests': ['REQUESTS_READ', 'ALL_READ', 'ALL_READ_WRITE'],
  'GET /api/v2/requests/:id': ['REQUESTS_READ', 'ALL_READ', 'ALL_READ_WRITE'],
  'GET /api/v2/statistics': ['REQUESTS_READ', 'ALL_READ', 'ALL_READ_WRITE'],
  'GET /api/v2/signing-keys': ['REQUESTS_READ', 'ALL_READ', 'ALL_READ_WRITE'],
  'GET /api/v2/customers': ['CUSTOMERS_READ', 'ALL_READ', 'ALL_READ_WRITE'],
  'GET /api/v2/customers/:id': ['CUSTOMERS_READ', 'ALL_READ', 'ALL_READ_WRITE'],
  'GET /api/v2/customers/:id/export': ['ALL_READ', 'ALL_READ_WRITE'],
  'POST /api/v2/customers': ['ALL_READ_WRITE'],
  'PUT /api/v2/customers/:id': ['ALL_READ_WRITE'],
  'DELETE /api/v2/customers/:id': ['ALL_READ_WRITE'],
  'POST /api/v2/validate': ['LICENSE_VALIDATE', 'ALL_READ_WRITE'],
  'GET /api/v2/tokens': ['ALL_READ_WRITE'],
  'GET /api/v2/tokens/self': API_INTENTS,
  'GET /api/v2/tokens/:id': ['ALL_READ_WRITE'],
  'POST /api/v2/tokens': ['ALL_READ_WRITE'],
  'PUT /api/v2/tokens/:id': ['ALL_READ_WRITE'],
  'DELETE /api/v2/tokens/:id': ['ALL_READ_WRITE'],
  'GET /api/v2/events': ['ALL_READ', 'ALL_READ_WRITE'],
  'GET /api/v2/webhooks': ['ALL_READ', 'ALL_READ_WRITE'],
  'GET /api/v2/webhooks/:id': ['ALL_READ', 'ALL_READ_WRITE'],
  'POST /api/v2/webhooks': ['ALL_READ_WRITE'],
  'PUT /api/v2/webhooks/:id': ['ALL_READ_WRITE'],
  'DELETE /api/v2/webhooks/:id': ['ALL_READ_WRITE'],
  'POST /api/v2/webhooks/:id/rotate-secret': ['ALL_READ_WRITE'],
  'POST /api/v2/webhooks/:id/test': ['ALL_READ_WRITE'],
  'GET /api/v2/webhooks/:id/deliveries': ['ALL_READ', 'ALL_READ_WRITE'],
  'POST /api/v2/webhooks/:id/deliveries/:deliveryId/resend': ['ALL_READ_WRITE'],
  'GET /api/v2/markets': ['ALL_READ', 'ALL_READ_WRITE'],
  'GET /api/v2/markets/:id': ['ALL_READ', 'ALL_READ_WRITE'],
  'POST /api/v2/markets': ['ALL_READ_WRITE'],
  'PUT /api/v2/markets/:id': ['ALL_READ_WRITE'],
  'DELETE /api/v2/markets/:id': ['ALL_READ_WRITE'],
  'GET /api/v2/markets/:id/deliveries': ['ALL_READ', 'ALL_READ_WRITE'],
  'GET /api/v2/purchases': ['LICENSES_READ', 'LICENSES_READ_WRITE', 'ALL_READ', 'ALL_READ_WRITE'],
  'GET /api/v2/purchases/:id': [
    'LICENSES_READ',
    'LICENSES_READ_WRITE',
    'ALL_READ',
    'ALL_READ_WRITE',
  ],
  'POST /api/v2/purchases': ['LICENSES_READ_WRITE', 'ALL_READ_WRITE'],
  'POST /api/v2/purchases/:id/grant': ['LICENSES_READ_WRITE', 'ALL_READ_WRITE'],
  'POST /api/v2/portal-links': ['LICENSES_READ_WRITE', 'ALL_READ_WRITE'],
  'GET /api/v2/settings/portal': ['ALL_READ', 'ALL_READ_WRITE'],
  'PUT /api/v2/settings/portal': ['ALL_READ_WRITE'],
  'GET /api/v2/settings/discord': ['ALL_READ', 'ALL_READ_WRITE'],
  'PUT /api/v2/settings/discord': ['ALL_READ_WRITE'],
  'POST /api/v2/settings/discord/test': ['ALL_READ_WRITE'],
  'POST /api/v2/import': ['ALL_READ_WRITE'],
};
