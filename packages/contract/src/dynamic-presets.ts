import type { SentSettings } from './dynamic-market.ts';
import type { MarketKind } from './enums.ts';

/**
 * The settings of known shops. Pages offer them beside the kinds of markets, so no name is that of a kind. This module
 * imports no code: pages need it without zod.
 */

export const DYNAMIC_PRESETS = {
  sellauth: {
    label: 'SellAuth',
    settings: {
      signature: { kind: 'hmac', header: 'X-Signature' },
      item: 'item.product.id|item.product_id',
      line: 'item.id',
      order: 'unique_id|id',
      buyer: 'shop_customer_id',
      email: 'email',
      quantity: 'item.quantity',
      event: 'event',
      deliverOn: ['INVOICE.ITEM.DELIVER-DYNAMIC'],
    },
  },
  sellapp: {
    label: 'Sell.app',
    settings: {
      signature: { kind: 'hmac', header: 'Signature' },
      item: 'product_id|product.id|listing.id|data.product_id',
      line: 'order_id|order.id|data.order_id|invoice.id|id|data.id+product_variant_id|variant_id|variant.id|data.variant_id',
      order: 'order_id|order.id|data.order_id|invoice.id|id|data.id',
      buyer: 'invoice.customer_information.id|customer_information.id|customer.id|customer_id',
      email:
        'customer_email|customer.email|invoice.customer_information.email|customer_information.email|email|data.email',
      quantity: 'quantity|data.quantity',
    },
  },
  shoppex: {
    label: 'Shoppex',
    settings: {
      signature: {
        kind: 'hmac',
        header: 'X-Shoppex-Signature-V2',
        part: 'h',
        message: '{id}.{time}.{body}',
        timeHeader: 'X-Shoppex-Timestamp',
        idHeader: 'X-Shoppex-Delivery-Id',
      },
      item: 'productId|product_id',
      line: 'line_item.id|deliveryId|delivery_id',
      order: 'invoiceId|invoice_id',
      email: 'customerEmail|customer_email',
      quantity: 'quantity',
      response:
        '{"data":{"service_text":"{keys}","dynamic_response":{"key":"{keys}"},"deliveryType":"DYNAMIC","count":"{count}"}}',
    },
  },
} as const satisfies Record<string, { label: string; settings: SentSettings }> & {
  readonly [Kind in MarketKind]?: never;
};
