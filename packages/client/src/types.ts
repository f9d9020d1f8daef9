// Made by `npm run openapi` from the routes and schemas of the service. Do not edit.

/** The fields that an import takes, as GET shows them. */
export const IMPORT_FIELDS = {
  products: [
    'id',
    'name',
    'description',
    'productType',
    'productTypeOther',
    'createdDate',
    'updatedDate',
    'defaultMaxIPs',
    'defaultMaxHWIDs',
    'roleId',
    'purchaseRoleId',
    'url',
    'imageUrl',
    'offlineDays',
    'checkAfterHours',
    'entitlements',
    'ipIdleDays',
    'hwidIdleDays',
    'defaultExpiresAfterDays',
    'selfResets',
    'selfRotate',
  ],
  customers: [
    'id',
    'firstName',
    'lastName',
    'username',
    'email',
    'phoneNumber',
    'profilePictureUrl',
    'role',
    'status',
    'createdAt',
    'chatId',
    'chatUsername',
    'chatAvatarUrl',
    'platformAId',
    'platformAUsername',
    'platformBId',
    'platformBUsername',
    'platformCId',
    'platformCUsername',
    'marketAId',
    'marketAUsername',
    'marketBId',
    'marketBUsername',
    'metadata',
  ],
  licenses: [
    'id',
    'licenseKey',
    'productId',
    'licenseType',
    'licensePlatform',
    'licensePlatformOther',
    'ownerPlatformId',
    'createdDate',
    'updatedDate',
    'expiryDate',
    'expiresAfterDays',
    'maxIPs',
    'maxHWIDs',
    'totalRequests',
    'ownerChatId',
    'ownerChatUsername',
    'licenseStatus',
    'hwids',
    'ips',
    'notes',
    'metadata',
    'entitlements',
    'entitlementsExpire',
    'customer',
  ],
  blacklists: [
    'id',
    'licenseDataType',
    'data',
    'isForAllProducts',
    'productId',
    'reason',
    'createdAt',
    'updatedAt',
  ],
};

/** The types of those fields that are no text. */
export const IMPORT_TYPES = {
  id: 'integer',
  createdDate: 'date-time',
  updatedDate: 'date-time',
  defaultMaxIPs: 'integer',
  defaultMaxHWIDs: 'integer',
  offlineDays: 'integer',
  checkAfterHours: 'integer',
  ipIdleDays: 'integer',
  hwidIdleDays: 'integer',
  defaultExpiresAfterDays: 'integer',
  selfResets: 'integer',
  selfRotate: 'boolean',
  createdAt: 'date-time',
  productId: 'integer',
  expiryDate: 'date-time',
  expiresAfterDays: 'integer',
  maxIPs: 'integer',
  maxHWIDs: 'integer',
  totalRequests: 'integer',
  isForAllProducts: 'boolean',
  updatedAt: 'date-time',
} as const;

/** The request of a program [4.7]. Unknown fields are ignored, and numbers are accepted as text. */
export interface ValidationRequest {
  /** The key, as the customer has entered it: it is read as a person would read it. */
  licenseKey: string;
  /** The id of the product that the program belongs to. */
  productId: number;
  /** For the history. */
  productVersion?: string | null | undefined;
  /** The hardware ID to check and bind. */
  hwid?: string | null | undefined;
  /** The address to check and bind. Without one, and for a private or reserved address, which identifies no machine, the connecting address counts. */
  ip?: string | null | undefined;
  /** For the history. */
  operatingSystem?: string | null | undefined;
  /** For the history. */
  osVersion?: string | null | undefined;
  /** For the history. */
  osArchitecture?: string | null | undefined;
  /** For the history. */
  javaVersion?: string | null | undefined;
  /** For the history. */
  macAddress?: string | null | undefined;
  /** Another name of `osVersion`, and used if both are sent. */
  operatingSystemVersion?: string | null | undefined;
  /** Another name of `osArchitecture`, and used if both are sent. */
  operatingSystemArchitecture?: string | null | undefined;
  /** At least 128 random bits as base64url: asks for a signed response. Ignored by a service without signing keys. */
  nonce?: string | null | undefined;
  /** With a nonce: the ID of the signing key that the program knows. If it is left out, the default key signs. */
  kid?: string | null | undefined;
  /** True asks for a lease. It needs a nonce and a hardware ID. */
  lease?: boolean | null | undefined;
  /** True if a person wants to move the license to this machine: if no slot is free, the value that was used longest ago gives way. That counts as one of `selfResets` of the product. */
  takeOver?: boolean | null | undefined;
}

/** The kind of program. */
export type ProductType = 'GAME_JAVA_PLUGIN' | 'GAME_JAVA_MOD' | 'GAME_BEDROCK_PLUGIN' | 'GAME_BEDROCK_MOD' | 'GAME_SERVER_SETUP' | 'WEB_APPLICATION' | 'DESKTOP_APPLICATION' | 'MOBILE_APPLICATION' | 'OTHER';

/** A new product [4.2]. */
export interface ProductCreate {
  /** Set by the service: must not be sent. */
  id?: null | undefined;
  /** Need not be unique. */
  name: string;
  /** Free text. */
  description?: string | null | undefined;
  /** The kind of program. */
  productType: ProductType;
  /** Free text, for the product type `OTHER`. */
  productTypeOther?: string | null | undefined;
  /** Set by the service: must not be sent. */
  createdDate?: null | undefined;
  /** Set by the service: must not be sent. */
  updatedDate?: null | undefined;
  /** `maxIPs` of licenses without their own; 5 unless set. */
  defaultMaxIPs?: number | null | undefined;
  /** `maxHWIDs` of licenses without their own; 5 unless set. */
  defaultMaxHWIDs?: number | null | undefined;
  /** A role at Discord. */
  roleId?: string | number | null | undefined;
  /** A role at Discord, for buyers. */
  purchaseRoleId?: string | number | null | undefined;
  /** The page of the product. An http or https address. */
  url?: string | null | undefined;
  /** The image of the product. An http or https address. */
  imageUrl?: string | null | undefined;
  /** Days that a lease lets a program run without the network. 0, the default, allows none. */
  offlineDays?: number | null | undefined;
  /** Hours after which a running program asks again: `checkAfter` in signed responses and leases. 24 unless set. */
  checkAfterHours?: number | null | undefined;
  /** Entitlements of all licenses of the product, by name: true, an integer (-1 is unlimited) or a text. At most 50 names and 2048 bytes. A PUT replaces all of them; null leaves none. Programs see them in signed responses and leases alone. */
  entitlements?: Record<string, true | number | string> | null | undefined;
  /** Days without a request after which a new address may take the slot of a bound one. Null, the default, is never. */
  ipIdleDays?: number | null | undefined;
  /** Days without a request after which a new hardware ID may take the slot of a bound one. Null, the default, is never. */
  hwidIdleDays?: number | null | undefined;
  /** `expiresAfterDays` of `TEMPORARY` licenses that are created without it and without an `expiryDate`. */
  defaultExpiresAfterDays?: number | null | undefined;
  /** How often, in 30 days, the customer may free slots of a license without you, or move it by `takeOver` of the program. 0, the default, is never. */
  selfResets?: number | null | undefined;
  /** Whether the customer may replace a leaked key of a license without you, once a day. False unless set. */
  selfRotate?: boolean | null | undefined;
}

/** Changes of a product: an omitted field keeps its value [4.8]. */
export interface ProductUpdate {
  /** Set by the service, and never used again. Programs are compiled with it. */
  id?: number | undefined;
  /** Need not be unique. */
  name?: string | undefined;
  /** Free text. */
  description?: string | null | undefined;
  /** The kind of program. */
  productType?: ProductType | undefined;
  /** Free text, for the product type `OTHER`. */
  productTypeOther?: string | null | undefined;
  /** Set by the service: accepted and ignored. */
  createdDate?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  updatedDate?: unknown | undefined;
  /** `maxIPs` of licenses without their own; 5 unless set. */
  defaultMaxIPs?: number | undefined;
  /** `maxHWIDs` of licenses without their own; 5 unless set. */
  defaultMaxHWIDs?: number | undefined;
  /** A role at Discord. */
  roleId?: string | number | null | undefined;
  /** A role at Discord, for buyers. */
  purchaseRoleId?: string | number | null | undefined;
  /** The page of the product. An http or https address. */
  url?: string | null | undefined;
  /** The image of the product. An http or https address. */
  imageUrl?: string | null | undefined;
  /** Days that a lease lets a program run without the network. 0, the default, allows none. */
  offlineDays?: number | undefined;
  /** Hours after which a running program asks again: `checkAfter` in signed responses and leases. 24 unless set. */
  checkAfterHours?: number | undefined;
  /** Entitlements of all licenses of the product, by name: true, an integer (-1 is unlimited) or a text. At most 50 names and 2048 bytes. A PUT replaces all of them; null leaves none. Programs see them in signed responses and leases alone. */
  entitlements?: Record<string, true | number | string> | null | undefined;
  /** Days without a request after which a new address may take the slot of a bound one. Null, the default, is never. */
  ipIdleDays?: number | null | undefined;
  /** Days without a request after which a new hardware ID may take the slot of a bound one. Null, the default, is never. */
  hwidIdleDays?: number | null | undefined;
  /** `expiresAfterDays` of `TEMPORARY` licenses that are created without it and without an `expiryDate`. */
  defaultExpiresAfterDays?: number | null | undefined;
  /** How often, in 30 days, the customer may free slots of a license without you, or move it by `takeOver` of the program. 0, the default, is never. */
  selfResets?: number | undefined;
  /** Whether the customer may replace a leaked key of a license without you, once a day. False unless set. */
  selfRotate?: boolean | undefined;
}

/** The status of a license. */
export type LicenseStatus = 'ACTIVE' | 'EXPIRED' | 'DEACTIVATED' | 'DELETED';

/** Whether a license expires. */
export type LicenseType = 'TEMPORARY' | 'PERMANENT';

/** A new license [4.3]. */
export interface LicenseCreate {
  /** Set by the service: must not be sent. */
  id?: null | undefined;
  /** Set by the service: must not be sent. */
  licenseKey?: null | undefined;
  /** The product of the license. */
  productId: number;
  /** Set by the service: accepted and ignored. */
  productIdString?: unknown | undefined;
  /** `TEMPORARY` needs an `expiryDate` or `expiresAfterDays`, `PERMANENT` has neither. */
  licenseType: LicenseType;
  /** The platform or market where it was bought. */
  licensePlatform?: LicensePlatform | null | undefined;
  /** Free text, for the platform `OTHER`. */
  licensePlatformOther?: string | null | undefined;
  /** The id of the owner there. */
  ownerPlatformId?: string | number | null | undefined;
  /** Set by the service: must not be sent. */
  createdDate?: null | undefined;
  /** Set by the service: must not be sent. */
  updatedDate?: null | undefined;
  /** From this millisecond on the license is `EXPIRED`; with a date in the past it is so at once. ISO 8601, or a date alone. */
  expiryDate?: string | null | undefined;
  /** In the place of `expiryDate`, for `TEMPORARY`: the first valid validation sets `expiryDate` to this many days later, and this to null. */
  expiresAfterDays?: number | null | undefined;
  /** Maximum number of addresses: -1 is unlimited, 0 none. */
  maxIPs?: number | null | undefined;
  /** Maximum number of hardware IDs: -1 is unlimited, 0 none. */
  maxHWIDs?: number | null | undefined;
  /** Set by the service: accepted and ignored. */
  totalRequests?: unknown | undefined;
  /** The id of the owner at Discord. */
  ownerChatId?: string | number | null | undefined;
  /** The name of the owner at Discord. */
  ownerChatUsername?: string | null | undefined;
  /** `EXPIRED` follows from `expiryDate`. On write `EXPIRED` means `ACTIVE`, and expires nothing: set `expiryDate`, or `DEACTIVATED`. */
  licenseStatus?: LicenseStatus | undefined;
  /** The bound hardware IDs, in the order in which they were bound. `[]` frees all. */
  hwids?: string[] | undefined;
  /** The bound addresses, in the order in which they were bound. `[]` frees all. IPv6 addresses of one /64 share a slot, which shows the first. New ones that are private or reserved are rejected. */
  ips?: string[] | undefined;
  /** For administrators. */
  notes?: string | null | undefined;
  /** Texts of your own, by their names: at most 20 of 500 characters. A PUT replaces all of them; a name with an empty text is left out, and null leaves none. For administrators and shops: no validation and no page of a customer shows them. */
  metadata?: Record<string, string> | null | undefined;
  /** Entitlements of this license by name. A value counts in the place of the product's, and null takes that of the product away. A PUT replaces all of them; null leaves none. Programs see them in signed responses and leases alone. */
  entitlements?: Record<string, true | number | string | null> | null | undefined;
  /** The ends of entitlements by name. From then on neither the value of the license nor that of the product counts. A PUT replaces all of them; null leaves none. */
  entitlementsExpire?: Record<string, string> | null | undefined;
  /** Set by the service: must not be sent. */
  effectiveEntitlements?: null | undefined;
  /** Set by the service: must not be sent. */
  customer?: null | undefined;
  /** The customer to whom the license belongs, in place of the owner fields. A token that may not read customers names only a customer with a license. In a PUT, null is nobody. */
  customerId?: number | null | undefined;
  /** The e-mail of the customer to whom the license belongs. A customer with a new one is created. */
  customerEmail?: string | null | undefined;
}

/** The platform or market where a license was bought. `GET /api/v2/platforms` shows their labels. */
export type LicensePlatform = 'PLATFORM_A' | 'PLATFORM_B' | 'PLATFORM_C' | 'MARKET_A' | 'MARKET_B' | 'CHAT' | 'OTHER';

/** New licenses that differ in their ids and keys alone. */
export interface LicenseBatch {
  /** Set by the service: must not be sent. */
  id?: null | undefined;
  /** Set by the service: must not be sent. */
  licenseKey?: null | undefined;
  /** The product of the license. */
  productId: number;
  /** Set by the service: accepted and ignored. */
  productIdString?: unknown | undefined;
  /** `TEMPORARY` needs an `expiryDate` or `expiresAfterDays`, `PERMANENT` has neither. */
  licenseType: LicenseType;
  /** The platform or market where it was bought. */
  licensePlatform?: LicensePlatform | null | undefined;
  /** Free text, for the platform `OTHER`. */
  licensePlatformOther?: string | null | undefined;
  /** The id of the owner there. */
  ownerPlatformId?: string | number | null | undefined;
  /** Set by the service: must not be sent. */
  createdDate?: null | undefined;
  /** Set by the service: must not be sent. */
  updatedDate?: null | undefined;
  /** From this millisecond on the license is `EXPIRED`; with a date in the past it is so at once. ISO 8601, or a date alone. */
  expiryDate?: string | null | undefined;
  /** In the place of `expiryDate`, for `TEMPORARY`: the first valid validation sets `expiryDate` to this many days later, and this to null. */
  expiresAfterDays?: number | null | undefined;
  /** Maximum number of addresses: -1 is unlimited, 0 none. */
  maxIPs?: number | null | undefined;
  /** Maximum number of hardware IDs: -1 is unlimited, 0 none. */
  maxHWIDs?: number | null | undefined;
  /** Set by the service: accepted and ignored. */
  totalRequests?: unknown | undefined;
  /** The id of the owner at Discord. */
  ownerChatId?: string | number | null | undefined;
  /** The name of the owner at Discord. */
  ownerChatUsername?: string | null | undefined;
  /** `EXPIRED` follows from `expiryDate`. On write `EXPIRED` means `ACTIVE`, and expires nothing: set `expiryDate`, or `DEACTIVATED`. */
  licenseStatus?: LicenseStatus | undefined;
  /** The bound hardware IDs, in the order in which they were bound. `[]` frees all. */
  hwids?: string[] | undefined;
  /** The bound addresses, in the order in which they were bound. `[]` frees all. IPv6 addresses of one /64 share a slot, which shows the first. New ones that are private or reserved are rejected. */
  ips?: string[] | undefined;
  /** For administrators. */
  notes?: string | null | undefined;
  /** Texts of your own, by their names: at most 20 of 500 characters. A PUT replaces all of them; a name with an empty text is left out, and null leaves none. For administrators and shops: no validation and no page of a customer shows them. */
  metadata?: Record<string, string> | null | undefined;
  /** Entitlements of this license by name. A value counts in the place of the product's, and null takes that of the product away. A PUT replaces all of them; null leaves none. Programs see them in signed responses and leases alone. */
  entitlements?: Record<string, true | number | string | null> | null | undefined;
  /** The ends of entitlements by name. From then on neither the value of the license nor that of the product counts. A PUT replaces all of them; null leaves none. */
  entitlementsExpire?: Record<string, string> | null | undefined;
  /** Set by the service: must not be sent. */
  effectiveEntitlements?: null | undefined;
  /** Set by the service: must not be sent. */
  customer?: null | undefined;
  /** The customer to whom the license belongs, in place of the owner fields. A token that may not read customers names only a customer with a license. In a PUT, null is nobody. */
  customerId?: number | null | undefined;
  /** The e-mail of the customer to whom the license belongs. A customer with a new one is created. */
  customerEmail?: string | null | undefined;
  /** The number of licenses, each with a key of its own. */
  count: number;
}

/** Changes of a license: an omitted field keeps its value [4.8]. */
export interface LicenseUpdate {
  /** Set by the service. */
  id?: number | undefined;
  /** Made by the service, and compared without regard to case. Only the operations for a new key and a new owner change it. */
  licenseKey?: string | undefined;
  /** The product of the license. */
  productId?: number | undefined;
  /** Set by the service: accepted and ignored. */
  productIdString?: unknown | undefined;
  /** `TEMPORARY` needs an `expiryDate` or `expiresAfterDays`, `PERMANENT` has neither. */
  licenseType?: LicenseType | undefined;
  /** The platform or market where it was bought. */
  licensePlatform?: LicensePlatform | null | undefined;
  /** Free text, for the platform `OTHER`. */
  licensePlatformOther?: string | null | undefined;
  /** The id of the owner there. */
  ownerPlatformId?: string | number | null | undefined;
  /** Set by the service: accepted and ignored. */
  createdDate?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  updatedDate?: unknown | undefined;
  /** From this millisecond on the license is `EXPIRED`; with a date in the past it is so at once. ISO 8601, or a date alone. */
  expiryDate?: string | null | undefined;
  /** In the place of `expiryDate`, for `TEMPORARY`: the first valid validation sets `expiryDate` to this many days later, and this to null. */
  expiresAfterDays?: number | null | undefined;
  /** Maximum number of addresses: -1 is unlimited, 0 none. */
  maxIPs?: number | undefined;
  /** Maximum number of hardware IDs: -1 is unlimited, 0 none. */
  maxHWIDs?: number | undefined;
  /** Set by the service: accepted and ignored. */
  totalRequests?: unknown | undefined;
  /** The id of the owner at Discord. */
  ownerChatId?: string | number | null | undefined;
  /** The name of the owner at Discord. */
  ownerChatUsername?: string | null | undefined;
  /** `EXPIRED` follows from `expiryDate`. On write `EXPIRED` means `ACTIVE`, and expires nothing: set `expiryDate`, or `DEACTIVATED`. */
  licenseStatus?: LicenseStatus | undefined;
  /** The bound hardware IDs, in the order in which they were bound. `[]` frees all. */
  hwids?: string[] | undefined;
  /** The bound addresses, in the order in which they were bound. `[]` frees all. IPv6 addresses of one /64 share a slot, which shows the first. New ones that are private or reserved are rejected. */
  ips?: string[] | undefined;
  /** For administrators. */
  notes?: string | null | undefined;
  /** Texts of your own, by their names: at most 20 of 500 characters. A PUT replaces all of them; a name with an empty text is left out, and null leaves none. For administrators and shops: no validation and no page of a customer shows them. */
  metadata?: Record<string, string> | null | undefined;
  /** Entitlements of this license by name. A value counts in the place of the product's, and null takes that of the product away. A PUT replaces all of them; null leaves none. Programs see them in signed responses and leases alone. */
  entitlements?: Record<string, true | number | string | null> | null | undefined;
  /** The ends of entitlements by name. From then on neither the value of the license nor that of the product counts. A PUT replaces all of them; null leaves none. */
  entitlementsExpire?: Record<string, string> | null | undefined;
  /** Set by the service: accepted and ignored. */
  effectiveEntitlements?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  customer?: unknown | undefined;
  /** The customer to whom the license belongs, in place of the owner fields. A token that may not read customers names only a customer with a license. In a PUT, null is nobody. */
  customerId?: number | null | undefined;
  /** The e-mail of the customer to whom the license belongs. A customer with a new one is created. */
  customerEmail?: string | null | undefined;
}

/** No field, or no body at all. */
export interface LicenseRotate {
}

/** The new owner of a license: one of the fields. */
export interface LicenseTransfer {
  /** The new owner. A token that may not read customers names only a customer with a license. */
  customerId?: number | undefined;
  /** The e-mail of the new owner. A customer with a new one is created. */
  customerEmail?: string | undefined;
}

/** No field, or no body at all. */
export interface MailAction {
}

/** The kind of value that a blacklist entry blocks. */
export type LicenseDataType = 'IP' | 'HWID';

/** A new blacklist entry [4.4]. */
export interface BlacklistEntryCreate {
  /** Set by the service: must not be sent. */
  id?: null | undefined;
  /** The kind of value. */
  licenseDataType: LicenseDataType;
  /** An address, a CIDR range, or a hardware ID. Addresses are kept in canonical form. */
  data: string;
  /** Whether it applies to all products, or only to `productId`. */
  isForAllProducts: boolean;
  /** The product that it applies to; null for all products. */
  productId?: number | null | undefined;
  /** For administrators: in the history, never in the response to a program. */
  reason?: string | null | undefined;
  /** Set by the service: must not be sent. */
  createdAt?: null | undefined;
  /** Set by the service: must not be sent. */
  updatedAt?: null | undefined;
}

/** Changes of an entry: an omitted field keeps its value [4.8]. */
export interface BlacklistEntryUpdate {
  /** Set by the service. */
  id?: number | undefined;
  /** The kind of value. */
  licenseDataType?: LicenseDataType | undefined;
  /** An address, a CIDR range, or a hardware ID. Addresses are kept in canonical form. */
  data?: string | undefined;
  /** Whether it applies to all products, or only to `productId`. */
  isForAllProducts?: boolean | undefined;
  /** The product that it applies to; null for all products. */
  productId?: number | null | undefined;
  /** For administrators: in the history, never in the response to a program. */
  reason?: string | null | undefined;
  /** Set by the service: accepted and ignored. */
  createdAt?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  updatedAt?: unknown | undefined;
}

/** A new customer. */
export interface CustomerCreate {
  /** Set by the service: must not be sent. */
  id?: null | undefined;
  /** First name. */
  firstName?: string | null | undefined;
  /** Last name. */
  lastName?: string | null | undefined;
  /** Name of the account. */
  username?: string | null | undefined;
  /** Unique without regard to case. */
  email?: string | null | undefined;
  /** Free text. */
  phoneNumber?: string | null | undefined;
  /** Address of a picture. An http or https address. */
  profilePictureUrl?: string | null | undefined;
  /** Set by the service: must not be sent. */
  passwordHash?: null | undefined;
  /** Free text. */
  role?: string | null | undefined;
  /** Free text. */
  status?: string | null | undefined;
  /** Set by the service: must not be sent. */
  createdAt?: null | undefined;
  /** Set by the service: must not be sent. */
  lastLoginAt?: null | undefined;
  /** Account at Discord: its id. */
  chatId?: string | number | null | undefined;
  /** Account at Discord: its name. */
  chatUsername?: string | null | undefined;
  /** Account at Discord: its picture. An http or https address. */
  chatAvatarUrl?: string | null | undefined;
  /** Set by the service: must not be sent. */
  chatAccessToken?: null | undefined;
  /** Set by the service: must not be sent. */
  chatRefreshToken?: null | undefined;
  /** Set by the service: must not be sent. */
  chatTokenExpiry?: null | undefined;
  /** Account on the platform or market: its id. */
  platformAId?: string | number | null | undefined;
  /** Account on the platform or market: its name. */
  platformAUsername?: string | null | undefined;
  /** Account on the platform or market: its id. */
  platformBId?: string | number | null | undefined;
  /** Account on the platform or market: its name. */
  platformBUsername?: string | null | undefined;
  /** Account on the platform or market: its id. */
  platformCId?: string | number | null | undefined;
  /** Account on the platform or market: its name. */
  platformCUsername?: string | null | undefined;
  /** Account on the platform or market: its id. */
  marketAId?: string | number | null | undefined;
  /** Account on the platform or market: its name. */
  marketAUsername?: string | null | undefined;
  /** Account on the platform or market: its id. */
  marketBId?: string | number | null | undefined;
  /** Account on the platform or market: its name. */
  marketBUsername?: string | null | undefined;
  /** Texts of your own, by their names: at most 20 of 500 characters. A PUT replaces all of them; a name with an empty text is left out, and null leaves none. For administrators and shops: no validation and no page of a customer shows them. */
  metadata?: Record<string, string> | null | undefined;
  /** Set by the service: must not be sent. */
  licenseCount?: null | undefined;
}

/** Changes of a customer: an omitted field keeps its value [4.8]. */
export interface CustomerUpdate {
  /** Set by the service. */
  id?: number | undefined;
  /** First name. */
  firstName?: string | null | undefined;
  /** Last name. */
  lastName?: string | null | undefined;
  /** Name of the account. */
  username?: string | null | undefined;
  /** Unique without regard to case. */
  email?: string | null | undefined;
  /** Free text. */
  phoneNumber?: string | null | undefined;
  /** Address of a picture. An http or https address. */
  profilePictureUrl?: string | null | undefined;
  /** Set by the service: must not be sent. */
  passwordHash?: null | undefined;
  /** Free text. */
  role?: string | null | undefined;
  /** Free text. */
  status?: string | null | undefined;
  /** Set by the service: accepted and ignored. */
  createdAt?: unknown | undefined;
  /** Set by the service: must not be sent. */
  lastLoginAt?: null | undefined;
  /** Account at Discord: its id. */
  chatId?: string | number | null | undefined;
  /** Account at Discord: its name. */
  chatUsername?: string | null | undefined;
  /** Account at Discord: its picture. An http or https address. */
  chatAvatarUrl?: string | null | undefined;
  /** Set by the service: must not be sent. */
  chatAccessToken?: null | undefined;
  /** Set by the service: must not be sent. */
  chatRefreshToken?: null | undefined;
  /** Set by the service: must not be sent. */
  chatTokenExpiry?: null | undefined;
  /** Account on the platform or market: its id. */
  platformAId?: string | number | null | undefined;
  /** Account on the platform or market: its name. */
  platformAUsername?: string | null | undefined;
  /** Account on the platform or market: its id. */
  platformBId?: string | number | null | undefined;
  /** Account on the platform or market: its name. */
  platformBUsername?: string | null | undefined;
  /** Account on the platform or market: its id. */
  platformCId?: string | number | null | undefined;
  /** Account on the platform or market: its name. */
  platformCUsername?: string | null | undefined;
  /** Account on the platform or market: its id. */
  marketAId?: string | number | null | undefined;
  /** Account on the platform or market: its name. */
  marketAUsername?: string | null | undefined;
  /** Account on the platform or market: its id. */
  marketBId?: string | number | null | undefined;
  /** Account on the platform or market: its name. */
  marketBUsername?: string | null | undefined;
  /** Texts of your own, by their names: at most 20 of 500 characters. A PUT replaces all of them; a name with an empty text is left out, and null leaves none. For administrators and shops: no validation and no page of a customer shows them. */
  metadata?: Record<string, string> | null | undefined;
  /** Set by the service: accepted and ignored. */
  licenseCount?: unknown | undefined;
}

/** A new API token [5]. */
export interface TokenCreate {
  /** Set by the service: must not be sent. */
  id?: null | undefined;
  /** The name of the user or program. */
  name: string;
  /** The permissions. */
  intents: ApiIntent[];
  /** From this millisecond on it is rejected; null if it does not expire. */
  expiresAt?: string | null | undefined;
  /** Set by the service: must not be sent. */
  lastUsedAt?: null | undefined;
  /** Set by the service: must not be sent. */
  client?: null | undefined;
  /** Set by the service: must not be sent. */
  createdAt?: null | undefined;
  /** Set by the service: must not be sent. */
  updatedAt?: null | undefined;
  /** Set by the service: must not be sent. */
  token?: null | undefined;
}

/** A permission that a token can hold [5]. */
export type ApiIntent = 'PRODUCTS_READ' | 'PRODUCTS_READ_WRITE' | 'LICENSE_VALIDATE' | 'LICENSES_READ' | 'LICENSES_READ_WRITE' | 'BLACKLISTS_READ' | 'BLACKLISTS_READ_WRITE' | 'REQUESTS_READ' | 'CUSTOMERS_READ' | 'ALL_READ' | 'ALL_READ_WRITE';

/** Changes of a token: an omitted field keeps its value [4.8]. */
export interface TokenUpdate {
  /** Set by the service. */
  id?: number | undefined;
  /** The name of the user or program. */
  name?: string | undefined;
  /** The permissions. */
  intents?: ApiIntent[] | undefined;
  /** From this millisecond on it is rejected; null if it does not expire. */
  expiresAt?: string | null | undefined;
  /** Set by the service: accepted and ignored. */
  lastUsedAt?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  client?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  createdAt?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  updatedAt?: unknown | undefined;
  /** Set by the service: must not be sent. */
  token?: null | undefined;
}

/** A kind of resource, and its change. */
export type EventType = 'product.created' | 'product.updated' | 'product.deleted' | 'license.created' | 'license.updated' | 'license.slots_freed' | 'license.rotated' | 'license.transferred' | 'license.redeemed' | 'license.deleted' | 'customer.created' | 'customer.updated' | 'customer.deleted' | 'customer.link_created' | 'blacklist.created' | 'blacklist.updated' | 'blacklist.deleted' | 'token.created' | 'token.updated' | 'token.deleted' | 'webhook.created' | 'webhook.updated' | 'webhook.deleted' | 'market.created' | 'market.updated' | 'market.deleted' | 'purchase.granted' | 'purchase.revoked' | 'purchase.restored' | 'purchase.extended' | 'purchase.updated' | 'session.created' | 'settings.updated' | 'license.first_used' | 'license.limit_reached' | 'license.expiring' | 'license.expired' | 'license.many_addresses' | 'blacklist.hit' | 'webhook.disabled' | 'market.failing' | 'market.guessed' | 'purchase.unmatched' | 'mail.failed';

/** The kind of an object that an event is about. */
export type EventResource = 'product' | 'license' | 'customer' | 'blacklist' | 'token' | 'webhook' | 'market' | 'purchase' | 'session' | 'settings' | 'mail';

/** A new webhook. There are at most 10. */
export interface WebhookCreate {
  /** Set by the service: must not be sent. */
  id?: null | undefined;
  /** Where the events are sent, as `https` to a public host. Of an address of Discord, the token is shown as `***`; a PUT of the shown address keeps it. */
  url: string;
  /** Unless set, `discord` for an address of Discord, else `standard`. */
  format?: WebhookFormat | null | undefined;
  /** The types of events that are sent. Empty, the default, for all. */
  types?: WebhookType[] | null | undefined;
  /** Whether events are sent. Events from while it was off are not sent later. */
  enabled?: boolean | null | undefined;
  /** Free text. */
  description?: string | null | undefined;
  /** Set by the service: must not be sent. */
  createdAt?: null | undefined;
  /** Set by the service: must not be sent. */
  updatedAt?: null | undefined;
  /** Set by the service: must not be sent. */
  lastSuccessAt?: null | undefined;
  /** Set by the service: must not be sent. */
  failingSince?: null | undefined;
  /** Set by the service: must not be sent. */
  disabledReason?: null | undefined;
  /** Set by the service: must not be sent. */
  secret?: null | undefined;
}

/** Standard Webhooks, or messages for a channel of Discord. */
export type WebhookFormat = 'standard' | 'discord';

/** A type of events, or a group of them such as `license.*`. */
export type WebhookType = 'product.*' | 'license.*' | 'customer.*' | 'blacklist.*' | 'token.*' | 'webhook.*' | 'market.*' | 'purchase.*' | 'session.*' | 'settings.*' | 'mail.*' | 'product.created' | 'product.updated' | 'product.deleted' | 'license.created' | 'license.updated' | 'license.slots_freed' | 'license.rotated' | 'license.transferred' | 'license.redeemed' | 'license.deleted' | 'customer.created' | 'customer.updated' | 'customer.deleted' | 'customer.link_created' | 'blacklist.created' | 'blacklist.updated' | 'blacklist.deleted' | 'token.created' | 'token.updated' | 'token.deleted' | 'webhook.created' | 'webhook.updated' | 'webhook.deleted' | 'market.created' | 'market.updated' | 'market.deleted' | 'purchase.granted' | 'purchase.revoked' | 'purchase.restored' | 'purchase.extended' | 'purchase.updated' | 'session.created' | 'settings.updated' | 'license.first_used' | 'license.limit_reached' | 'license.expiring' | 'license.expired' | 'license.many_addresses' | 'blacklist.hit' | 'webhook.disabled' | 'market.failing' | 'market.guessed' | 'purchase.unmatched' | 'mail.failed';

/** Changes of a webhook: an omitted field keeps its value [4.8]. */
export interface WebhookUpdate {
  /** Set by the service. */
  id?: number | undefined;
  /** Where the events are sent, as `https` to a public host. Of an address of Discord, the token is shown as `***`; a PUT of the shown address keeps it. */
  url?: string | undefined;
  /** Unless set, `discord` for an address of Discord, else `standard`. */
  format?: WebhookFormat | undefined;
  /** The types of events that are sent. Empty, the default, for all. */
  types?: WebhookType[] | undefined;
  /** Whether events are sent. Events from while it was off are not sent later. */
  enabled?: boolean | undefined;
  /** Free text. */
  description?: string | null | undefined;
  /** Set by the service: accepted and ignored. */
  createdAt?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  updatedAt?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  lastSuccessAt?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  failingSince?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  disabledReason?: unknown | undefined;
  /** Set by the service: must not be sent. */
  secret?: null | undefined;
}

/** No field, or no body at all. */
export interface WebhookAction {
}

/** Whether a delivery has arrived, or another attempt follows. */
export type DeliveryState = 'PENDING' | 'DELIVERED' | 'FAILED';

/** A new market. There are at most 20. */
export interface MarketCreate {
  /** Set by the service: must not be sent. */
  id?: null | undefined;
  /** Does not change. */
  kind: MarketKind;
  /** For people. */
  name: string;
  /** Whether its requests are accepted. */
  enabled?: boolean | undefined;
  /** The products of the market, and the licenses that a purchase of each makes. */
  products?: MarketProduct[] | undefined;
  /** The effect of a refund in full. A partial refund has none. */
  onRefund?: RefundAction | undefined;
  /** The effect of a dispute or chargeback. A dispute that ends without a loss restores the license. */
  onDispute?: DisputeAction | undefined;
  /** For `dynamic` only, which needs it: how its requests are signed and read. */
  settings?: DynamicSettings | null | undefined;
  /** Whether buyers get the key by e-mail, once mails of the kind `key` are switched on (13). By default where the market shows them nothing of the response: `stripe`, `tebex` and `paynow`. */
  mailsKey?: boolean | undefined;
  /** Set by the service: must not be sent. */
  addresses?: null | undefined;
  /** Set by the service: must not be sent. */
  isPublic?: null | undefined;
  /** Set by the service: must not be sent. */
  secretCount?: null | undefined;
  /** Set by the service: must not be sent. */
  hasApiToken?: null | undefined;
  /** Set by the service: must not be sent. */
  createdAt?: null | undefined;
  /** Set by the service: must not be sent. */
  updatedAt?: null | undefined;
  /** Set by the service: must not be sent. */
  state?: null | undefined;
  /** Set by the service: must not be sent. */
  sales?: null | undefined;
  /** Set by the service: must not be sent. */
  lastSaleAt?: null | undefined;
  /** Set by the service: must not be sent. */
  reconciledAt?: null | undefined;
  /** The secrets that the market sends or signs with: one is enough for a request. A secret that you choose, for `builtbybit` and for `dynamic` with a sent secret, needs at least 16 characters. A PUT replaces all of them. No response shows them. */
  secrets?: string[] | undefined;
  /** For `builtbybit` and `voxel`: a token of their API, with which purchases are compared. For `stripe`: a restricted key, with which the lines of a session are read. Null or empty for none. No response shows it. */
  apiToken?: string | null | undefined;
}

/** A market that sells keys. */
export type MarketKind = 'builtbybit' | 'voxel' | 'dynamic' | 'tebex' | 'stripe' | 'paynow';

/** A product of a market, the product that it stands for, and the licenses that are made for it. */
export interface MarketProduct {
  /** The id of the product at the market. */
  item: string | number;
  /** The product of the licenses. */
  productId: number;
  /** `TEMPORARY` needs `expiresAfterDays`, here or at the product. */
  licenseType?: LicenseType | undefined;
  /** For `TEMPORARY`: the days from the first use. Null for that of the product. */
  expiresAfterDays?: number | null | undefined;
  /** Null for that of the product. */
  maxIPs?: number | null | undefined;
  /** Null for that of the product. */
  maxHWIDs?: number | null | undefined;
  /** `entitlements` of the licenses, such as an edition that is sold. None if it is left out. */
  entitlements?: Record<string, true | number | string> | null | undefined;
  /** Whether a quantity above one makes one license each, or one license with larger limits. */
  quantity?: QuantityMeaning | undefined;
}

/** Whether a quantity makes so many licenses, or one license with its limits multiplied. */
export type QuantityMeaning = 'licenses' | 'limits';

/** Whether a refund in full deactivates the license, or keeps it. */
export type RefundAction = 'deactivate' | 'keep';

/** Whether a dispute deactivates the license when it is opened, when it is lost (`wait`), or not at all. */
export type DisputeAction = 'deactivate' | 'wait' | 'keep';

/** How the requests of a shop are signed and read. */
export interface DynamicSettings {
  /** How a request shows that it comes from the shop. */
  signature: HmacSignature | SentSecret;
  /** The path of the id of the product. */
  item: string;
  /** The path of the id of the order line, or of the order: one license each. Where a line has no id, join more with `+`, such as `order_id+variant_id`. */
  line: string;
  /** The path of the id of the order. */
  order?: string | null | undefined;
  /** The path of the id of the buyer. */
  buyer?: string | null | undefined;
  /** The path of the name of the buyer. */
  buyerName?: string | null | undefined;
  /** The path of the e-mail of the buyer. */
  email?: string | null | undefined;
  /** The path of the quantity; 1 without one. */
  quantity?: string | null | undefined;
  /** The path of the type of event. */
  event?: string | null | undefined;
  /** The types of event that ask for a key; empty for all. Others are accepted and ignored. */
  deliverOn?: string[] | undefined;
  /** The response as JSON, in which `{keys}` stands for the keys, one a line, and `"{count}"` for their number. Null for the keys as text. */
  response?: string | null | undefined;
}

/** A signature by HMAC-SHA256. */
export interface HmacSignature {
  /** HMAC-SHA256 of a message, in a header. */
  kind: 'hmac';
  /** The header with the signature. */
  header: string;
  /** The encoding of the signature. */
  encoding?: 'hex' | 'base64' | undefined;
  /** Text before the signature, such as `sha256=`. */
  prefix?: string | undefined;
  /** For a header such as `t=1,v1=ab`: the name of the part with the signature. */
  part?: string | null | undefined;
  /** The signed text, of `{body}`, `{time}` and `{id}`, such as `{time}.{body}`. */
  message?: string | undefined;
  /** The header with `{time}`, in seconds. */
  timeHeader?: string | null | undefined;
  /** The header with `{id}`. */
  idHeader?: string | null | undefined;
}

/** The secret itself, in a header or in the body. */
export interface SentSecret {
  /** The secret itself. */
  kind: 'secret';
  /** The header with the secret. */
  header?: string | null | undefined;
  /** The field of the body with the secret. */
  field?: string | null | undefined;
}

/** Changes of a market: an omitted field keeps its value [4.8]. */
export interface MarketUpdate {
  /** Set by the service. */
  id?: number | undefined;
  /** Does not change. */
  kind?: MarketKind | undefined;
  /** For people. */
  name?: string | undefined;
  /** Whether its requests are accepted. */
  enabled?: boolean | undefined;
  /** The products of the market, and the licenses that a purchase of each makes. */
  products?: MarketProduct[] | undefined;
  /** The effect of a refund in full. A partial refund has none. */
  onRefund?: RefundAction | undefined;
  /** The effect of a dispute or chargeback. A dispute that ends without a loss restores the license. */
  onDispute?: DisputeAction | undefined;
  /** For `dynamic` only, which needs it: how its requests are signed and read. */
  settings?: DynamicSettings | null | undefined;
  /** Whether buyers get the key by e-mail, once mails of the kind `key` are switched on (13). By default where the market shows them nothing of the response: `stripe`, `tebex` and `paynow`. */
  mailsKey?: boolean | undefined;
  /** Set by the service: accepted and ignored. */
  addresses?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  isPublic?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  secretCount?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  hasApiToken?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  createdAt?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  updatedAt?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  state?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  sales?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  lastSaleAt?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  reconciledAt?: unknown | undefined;
  /** The secrets that the market sends or signs with: one is enough for a request. A secret that you choose, for `builtbybit` and for `dynamic` with a sent secret, needs at least 16 characters. A PUT replaces all of them. No response shows them. */
  secrets?: string[] | undefined;
  /** For `builtbybit` and `voxel`: a token of their API, with which purchases are compared. For `stripe`: a restricted key, with which the lines of a session are read. Null or empty for none. No response shows it. */
  apiToken?: string | null | undefined;
}

/** Whether a purchase has its license, has lost it, or waits for a product. */
export type PurchaseState = 'GRANTED' | 'REVOKED' | 'UNMATCHED';

/** A purchase from before, or for staff and gifts: the market then delivers the key of the license. */
export interface PurchaseCreate {
  /** Set by the service: must not be sent. */
  id?: null | undefined;
  /** The market. */
  marketId: number;
  /** The id of the product at the market. */
  item: string | number;
  /** The buyer, at BuiltByBit and Voxel Shop, else the order line: one purchase for each reference and item. */
  reference: string | number;
  /** Set by the service: must not be sent. */
  unit?: null | undefined;
  /** The id of the order; null without one. */
  order?: string | number | null | undefined;
  /** The id of the buyer at the market. */
  buyerId?: string | number | null | undefined;
  /** The name of the buyer at the market. */
  buyerName?: string | number | null | undefined;
  /** Set by the service: must not be sent. */
  email?: null | undefined;
  /** Set by the service: must not be sent. */
  amount?: null | undefined;
  /** Set by the service: must not be sent. */
  currency?: null | undefined;
  /** Set by the service: must not be sent. */
  quantity?: null | undefined;
  /** Set by the service: must not be sent. */
  isTest?: null | undefined;
  /** Set by the service: must not be sent. */
  state?: null | undefined;
  /** Set by the service: must not be sent. */
  reason?: null | undefined;
  /** Set by the service: must not be sent. */
  isIgnored?: null | undefined;
  /** Set by the service: must not be sent. */
  marketName?: null | undefined;
  /** Its license; null before it has one. */
  licenseId: number;
  /** Set by the service: must not be sent. */
  licenseKey?: null | undefined;
  /** Set by the service: must not be sent. */
  customerId?: null | undefined;
  /** Set by the service: must not be sent. */
  productId?: null | undefined;
  /** Set by the service: must not be sent. */
  productName?: null | undefined;
  /** Set by the service: must not be sent. */
  createdAt?: null | undefined;
  /** Set by the service: must not be sent. */
  updatedAt?: null | undefined;
  /** Set by the service: must not be sent. */
  revokedAt?: null | undefined;
}

/** Whether a purchase that waits for a product needs no license. */
export interface PurchaseIgnore {
  /** False takes the decision back. */
  isIgnored?: boolean | undefined;
}

/** The license of a purchase: an existing one, a new one of a product, or, without a field, a new one as the market maps the product. */
export interface PurchaseGrant {
  /** An existing license. */
  licenseId?: number | undefined;
  /** The product of a new license. */
  productId?: number | undefined;
}

/** The customer for whom a link is made. */
export interface PortalLinkCreate {
  /** The id of the customer. */
  customerId?: number | undefined;
  /** The id of a license of the customer. */
  licenseId?: number | undefined;
  /** The minutes for which the link works. */
  validMinutes?: number | undefined;
}

/** Changes of the settings: an omitted field keeps its value [4.8]. */
export interface MailSettingsUpdate {
  /** The kinds that are sent; none by default. */
  kinds?: ('key' | 'link' | 'expiring')[] | undefined;
  /** The language of mails to customers whose language is unknown: the one that they last used on `/my` counts. */
  language?: 'en' | 'de' | 'fr' | 'es' | 'pt' | undefined;
  /** Your own texts, by language and kind, as plain text with `{name}`, `{product}`, `{key}`, `{expiry}`, `{days}` and `{link}`. What you send replaces all of them. */
  texts?: Record<string, Record<string, MailText>> | undefined;
  /** Set by the service: accepted and ignored. */
  sender?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  fault?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  defaults?: unknown | undefined;
}

/** The parts of a mail that you write, as plain text with placeholders. An omitted part is that of Licet. */
export interface MailText {
  /** One line. */
  subject?: string | undefined;
  /** The lines before the facts. */
  greeting?: string | undefined;
  /** The lines after the facts. */
  closing?: string | undefined;
}

/** A mail to see, with made-up values. */
export interface MailPreviewRequest {
  /** The kind of the mail. */
  kind: 'key' | 'link' | 'expiring';
  /** Its language. */
  language: 'en' | 'de' | 'fr' | 'es' | 'pt';
  /** The texts to try; the stored ones without it. */
  text?: MailText | undefined;
}

/** Changes of the settings: an omitted field keeps its value [4.8]. */
export interface PortalSettingsUpdate {
  /** Your name, in the head of the page; empty for none. */
  name?: string | undefined;
  /** The colour of its buttons; null for that of Licet. */
  colour?: string | null | undefined;
  /** Where customers get help: a web address, such as an invitation to a chat, or `mailto:`. */
  contact?: string | null | undefined;
  /** A picture of at most 32 KB as a `data:` URL: the page loads nothing from elsewhere. */
  logo?: string | null | undefined;
}

/** Changes of the settings: an omitted field keeps its value [4.8]. */
export interface DiscordSettingsUpdate {
  /** The id of the application; null switches it off. */
  applicationId?: string | null | undefined;
  /** The public key of the application. */
  publicKey?: string | null | undefined;
  /** The server whose commands are obeyed. */
  guildId?: string | null | undefined;
  /** The role that may use the commands of administrators; null for administrators of the server alone. */
  adminRoleId?: string | null | undefined;
  /** Set by the service: accepted and ignored. */
  hasBotToken?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  rolesFault?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  interactionsUrl?: unknown | undefined;
  /** Set by the service: accepted and ignored. */
  isPublic?: unknown | undefined;
  /** The token of the bot, for roles alone. No response shows it; null removes it. */
  botToken?: string | null | undefined;
}

/** No field, or no body at all. */
export interface DiscordAction {
}

/** The key of a license, a link to `/my`, a reminder of licenses that expire, or a test. */
export type MailKind = 'key' | 'link' | 'expiring' | 'test';

/** Waiting for an attempt, sent, perhaps sent (the connection was lost after the message), failed for good, or not sent because its cause was over. */
export type MailState = 'WAITING' | 'SENT' | 'UNKNOWN' | 'FAILED' | 'SKIPPED';

/** The address of a test mail, which is not stored. */
export interface MailTest {
  /** Where the test is sent. */
  to: string;
  /** Its language; that of the settings without it. */
  language?: 'en' | 'de' | 'fr' | 'es' | 'pt' | undefined;
}

/** Objects of another service, of one kind. */
export interface ImportRequest {
  /** The kind of the items. Products come before customers, licenses and blacklist entries. */
  kind: 'products' | 'customers' | 'licenses' | 'blacklists';
  /** At most 200, each as GET shows it: the fields of POST, with the id, the key and the times. A field that is omitted or null has its default. */
  items: unknown[];
  /** Checks everything and writes nothing. */
  dryRun?: boolean | undefined;
  /** Products that a dry run assumes to exist. */
  assumedProductIds?: number[] | undefined;
}

/** The license is valid [4.7]. */
export interface ValidResponse {
  /** Whether the license is valid, as the status says: 200 means valid, any other status invalid. */
  valid: true;
  /** Why. */
  message: string;
  /** Whether the license limits hardware IDs. */
  hardwareLocked: boolean;
  /** Whether the license limits addresses. */
  iPLocked: boolean;
  /** UTC without an offset; null for a license that never expires. */
  expiryDate: string | null;
  /** Maximum number of addresses; -1 is unlimited. */
  maxIPs: number;
  /** Maximum number of hardware IDs; -1 is unlimited. */
  maxHWIDs: number;
  /** Validations of this license, including this one, as far as this location knows. */
  totalRequests: number;
  /** A JWS in compact form (signed responses). It is there if the request had a nonce and was not rejected. */
  signed?: string | undefined;
  /** A JWS with which the program may start while the network is down (leases). It is there on request, if the product has offline days. */
  lease?: string | undefined;
}

/** The license is not valid, or the request was rejected [4.7]. */
export interface InvalidResponse {
  /** Whether the license is valid, as the status says: 200 means valid, any other status invalid. */
  valid: false;
  /** Why. */
  message: string;
  /** A JWS in compact form (signed responses). It is there if the request had a nonce and was not rejected. */
  signed?: string | undefined;
}

/** An error of v2 [7]. */
export interface Error {
  /** The error; for bad input with the name of the field. */
  message: string;
  /** The intents that open the endpoint. One of them is enough. */
  accepted_intents: ApiIntent[];
}

/** The public halves of the signing keys (RFC 7517). */
export interface KeySet {
  /** Public keys as JWK, the default key first. Empty for a service that does not sign. */
  keys: (EcPublicKey | RsaPublicKey)[];
}

/** A public key of ES256. */
export interface EcPublicKey {
  /** The type of the key. */
  kty: 'EC';
  /** The curve. */
  crv: 'P-256';
  /** Its name, which a program sends. */
  kid: string;
  /** As base64url. */
  x: string;
  /** As base64url. */
  y: string;
  /** The algorithm of its signatures. */
  alg: 'ES256';
  /** Always `sig`. */
  use: 'sig';
}

/** A public key of RS256. */
export interface RsaPublicKey {
  /** The type of the key. */
  kty: 'RSA';
  /** Its name, which a program sends. */
  kid: string;
  /** The modulus of 2,048 bits, as base64url. */
  n: string;
  /** The exponent, 65537. */
  e: 'AQAB';
  /** The algorithm of its signatures. */
  alg: 'RS256';
  /** Always `sig`. */
  use: 'sig';
}

/** The label of a platform. */
export interface PlatformLabel {
  /** The name, which all other endpoints take and return. */
  platform: 'PLATFORM_A' | 'PLATFORM_B' | 'PLATFORM_C' | 'MARKET_A' | 'MARKET_B';
  /** The label that people see: the name, if none is set. */
  label: string;
}

/** The address of the service for others. */
export interface ServiceAddress {
  /** The address, without a path. */
  url: string;
  /** Whether others can open the address. If false, only the machine of the service and its network can: set the variable `PUBLIC_URL`. */
  isPublic: boolean;
  /** The time zone in which a day ends where people enter one: the variable `TIME_ZONE`. */
  timeZone: string;
}

/** The number of installations that ask for a signing key. */
export interface SigningKeyUse {
  /** The name of the key. */
  kid: string;
  /** Number of installations that have asked for it. */
  installations: number;
  /** The last time that one of them asked, as of the last aggregation: up to a day ago. */
  lastSeen: string | null;
}

/** A product [2.1]. */
export interface Product {
  /** Set by the service, and never used again. Programs are compiled with it. */
  id: number;
  /** Need not be unique. */
  name: string;
  /** Free text. */
  description: string;
  /** The kind of program. */
  productType: ProductType;
  /** Free text, for the product type `OTHER`. */
  productTypeOther: string;
  /** Set by the service. */
  createdDate: string;
  /** Set by the service. */
  updatedDate: string;
  /** `maxIPs` of licenses without their own; 5 unless set. */
  defaultMaxIPs: number;
  /** `maxHWIDs` of licenses without their own; 5 unless set. */
  defaultMaxHWIDs: number;
  /** A role at Discord. */
  roleId: string | null;
  /** A role at Discord, for buyers. */
  purchaseRoleId: string | null;
  /** The page of the product. An http or https address. */
  url: string | null;
  /** The image of the product. An http or https address. */
  imageUrl: string | null;
  /** Days that a lease lets a program run without the network. 0, the default, allows none. */
  offlineDays: number;
  /** Hours after which a running program asks again: `checkAfter` in signed responses and leases. 24 unless set. */
  checkAfterHours: number;
  /** Entitlements of all licenses of the product, by name: true, an integer (-1 is unlimited) or a text. At most 50 names and 2048 bytes. A PUT replaces all of them; null leaves none. Programs see them in signed responses and leases alone. */
  entitlements: Record<string, true | number | string>;
  /** Days without a request after which a new address may take the slot of a bound one. Null, the default, is never. */
  ipIdleDays: number | null;
  /** Days without a request after which a new hardware ID may take the slot of a bound one. Null, the default, is never. */
  hwidIdleDays: number | null;
  /** `expiresAfterDays` of `TEMPORARY` licenses that are created without it and without an `expiryDate`. */
  defaultExpiresAfterDays: number | null;
  /** How often, in 30 days, the customer may free slots of a license without you, or move it by `takeOver` of the program. 0, the default, is never. */
  selfResets: number;
  /** Whether the customer may replace a leaked key of a license without you, once a day. False unless set. */
  selfRotate: boolean;
}

/** A license [2.2]. */
export interface License {
  /** Set by the service. */
  id: number;
  /** Made by the service, and compared without regard to case. Only the operations for a new key and a new owner change it. */
  licenseKey: string;
  /** The product of the license. */
  productId: number;
  /** `productId` as text. */
  productIdString: string;
  /** `TEMPORARY` needs an `expiryDate` or `expiresAfterDays`, `PERMANENT` has neither. */
  licenseType: LicenseType;
  /** The platform or market where it was bought. */
  licensePlatform: LicensePlatform | null;
  /** Free text, for the platform `OTHER`. */
  licensePlatformOther: string;
  /** The id of the owner there. */
  ownerPlatformId: string;
  /** Set by the service. */
  createdDate: string;
  /** Set by the service. */
  updatedDate: string;
  /** From this millisecond on the license is `EXPIRED`; with a date in the past it is so at once. ISO 8601, or a date alone. */
  expiryDate: string | null;
  /** In the place of `expiryDate`, for `TEMPORARY`: the first valid validation sets `expiryDate` to this many days later, and this to null. */
  expiresAfterDays: number | null;
  /** Maximum number of addresses: -1 is unlimited, 0 none. */
  maxIPs: number;
  /** Maximum number of hardware IDs: -1 is unlimited, 0 none. */
  maxHWIDs: number;
  /** Number of recorded validations. */
  totalRequests: number;
  /** The id of the owner at Discord. */
  ownerChatId: string;
  /** The name of the owner at Discord. */
  ownerChatUsername: string;
  /** `EXPIRED` follows from `expiryDate`. On write `EXPIRED` means `ACTIVE`, and expires nothing: set `expiryDate`, or `DEACTIVATED`. */
  licenseStatus: LicenseStatus;
  /** The bound hardware IDs, in the order in which they were bound. `[]` frees all. */
  hwids: string[];
  /** The bound addresses, in the order in which they were bound. `[]` frees all. IPv6 addresses of one /64 share a slot, which shows the first. New ones that are private or reserved are rejected. */
  ips: string[];
  /** For administrators. */
  notes: string;
  /** Texts of your own, by their names: at most 20 of 500 characters. A PUT replaces all of them; a name with an empty text is left out, and null leaves none. For administrators and shops: no validation and no page of a customer shows them. */
  metadata: Record<string, string>;
  /** Entitlements of this license by name. A value counts in the place of the product's, and null takes that of the product away. A PUT replaces all of them; null leaves none. Programs see them in signed responses and leases alone. */
  entitlements: Record<string, true | number | string | null>;
  /** The ends of entitlements by name. From then on neither the value of the license nor that of the product counts. A PUT replaces all of them; null leaves none. */
  entitlementsExpire: Record<string, string>;
  /** The entitlements that count now: those of the product and of the license together, without those that have ended. */
  effectiveEntitlements: Record<string, true | number | string>;
  /** The owner, according to `customerId`, `customerEmail` or the owner fields; set by the service. */
  customer: Customer | null;
}

/** An owner of licenses [2.5]. */
export interface Customer {
  /** Set by the service. */
  id: number;
  /** First name. */
  firstName: string | null;
  /** Last name. */
  lastName: string | null;
  /** Name of the account. */
  username: string | null;
  /** Unique without regard to case. */
  email: string | null;
  /** Free text. */
  phoneNumber: string | null;
  /** Address of a picture. An http or https address. */
  profilePictureUrl: string | null;
  /** Always null. */
  passwordHash: null;
  /** Free text. */
  role: string | null;
  /** Free text. */
  status: string | null;
  /** Set by the service. */
  createdAt: string;
  /** Always null. */
  lastLoginAt: null;
  /** Account at Discord: its id. */
  chatId: string | null;
  /** Account at Discord: its name. */
  chatUsername: string | null;
  /** Account at Discord: its picture. An http or https address. */
  chatAvatarUrl: string | null;
  /** Always null. */
  chatAccessToken: null;
  /** Always null. */
  chatRefreshToken: null;
  /** Always null. */
  chatTokenExpiry: null;
  /** Account on the platform or market: its id. */
  platformAId: string | null;
  /** Account on the platform or market: its name. */
  platformAUsername: string | null;
  /** Account on the platform or market: its id. */
  platformBId: string | null;
  /** Account on the platform or market: its name. */
  platformBUsername: string | null;
  /** Account on the platform or market: its id. */
  platformCId: string | null;
  /** Account on the platform or market: its name. */
  platformCUsername: string | null;
  /** Account on the platform or market: its id. */
  marketAId: string | null;
  /** Account on the platform or market: its name. */
  marketAUsername: string | null;
  /** Account on the platform or market: its id. */
  marketBId: string | null;
  /** Account on the platform or market: its name. */
  marketBUsername: string | null;
  /** Texts of your own, by their names: at most 20 of 500 characters. A PUT replaces all of them; a name with an empty text is left out, and null leaves none. For administrators and shops: no validation and no page of a customer shows them. */
  metadata: Record<string, string>;
}

/** A machine that asked with the key of a license: one combination of all that its program sent. */
export interface Installation {
  /** For `after`. */
  id: number;
  /** The address that was checked. */
  ip: string | null;
  /** As it was sent. */
  hwid: string | null;
  /** As it was sent. */
  productVersion: string | null;
  /** As it was sent. */
  operatingSystem: string | null;
  /** As it was sent. */
  operatingSystemVersion: string | null;
  /** As it was sent. */
  operatingSystemArchitecture: string | null;
  /** As it was sent. */
  javaVersion: string | null;
  /** As it was sent. */
  macAddress: string | null;
  /** When it asked for the first time. */
  firstSeen: string;
  /** When it asked for the last time. */
  lastSeen: string;
  /** Number of its recorded validations, without those over a rate limit. */
  requests: number;
  /** When the slot of its address is idle. Null if that is not bound, or the product has no `ipIdleDays`. */
  ipIdleDate: string | null;
  /** When the slot of its hardware ID is idle. Null if that is not bound, or the product has no `hwidIdleDays`. */
  hwidIdleDate: string | null;
}

/** A slot of a license: a bound address or hardware ID, with its last use. */
export interface Slot {
  /** Whether it is bound to an address or a hardware ID. */
  type: LicenseDataType;
  /** The bound value. */
  value: string;
  /** When a program last asked with it, or when it was bound if that is later. */
  lastUsed: string;
  /** From then on a new value may take the slot, unless the value is used meanwhile. Null without `ipIdleDays` or `hwidIdleDays` of the product. */
  idleDate: string | null;
}

/** A mail to a customer, without its text. It is kept for 30 days. */
export interface Mail {
  /** Set by the service. */
  id: number;
  /** The kind. */
  kind: MailKind;
  /** The cause. No cause has a second mail. It holds no address. */
  cause: string;
  /** The state. */
  state: MailState;
  /** The license; null for a mail about several, or none. */
  licenseId: number | null;
  /** The customer; null for a test. */
  customerId: number | null;
  /** The e-mail of the customer as it is now, which gets the mail; null without one, and for a test. */
  email: string | null;
  /** The number of attempts until now. */
  attempts: number;
  /** Why it was not sent, and the remedy. */
  error: string | null;
  /** The time of the cause. */
  createdAt: string;
  /** When the sender took it over. */
  sentAt: string | null;
  /** The time of the next attempt at the earliest; null without one. */
  nextAttemptAt: string | null;
}

/** A blacklist entry [2.3]. */
export interface BlacklistEntry {
  /** Set by the service. */
  id: number;
  /** The kind of value. */
  licenseDataType: LicenseDataType;
  /** An address, a CIDR range, or a hardware ID. Addresses are kept in canonical form. */
  data: string;
  /** Whether it applies to all products, or only to `productId`. */
  isForAllProducts: boolean;
  /** The product that it applies to; null for all products. */
  productId: number | null;
  /** For administrators: in the history, never in the response to a program. */
  reason: string;
  /** Set by the service. */
  createdAt: string;
  /** Set by the service. */
  updatedAt: string;
}

/** A validation in the history [2.4]. */
export interface LicenseRequest {
  /** Grows with time. */
  id: number;
  /** Null for a key that no license has. */
  licenseId: number | null;
  /** As it was sent. */
  licenseKey: string | null;
  /** As it was sent. */
  productId: number | null;
  /** As it was sent. */
  productVersion: string | null;
  /** The address that was checked: of the body, else of the connection. */
  ip: string | null;
  /** As it was sent. */
  hwid: string | null;
  /** As it was sent. */
  macAddress: string | null;
  /** As it was sent. */
  operatingSystem: string | null;
  /** As it was sent. */
  operatingSystemVersion: string | null;
  /** As it was sent. */
  operatingSystemArchitecture: string | null;
  /** As it was sent. */
  javaVersion: string | null;
  /** When it arrived. */
  requestDate: string;
  /** The interface of the request. */
  requestType: RequestType;
  /** The outcome. */
  responseType: ResponseType;
  /** The reason of the blacklist entry that blocked it. */
  blockReason: string | null;
  /** Always null. */
  notes: null;
  /** Remarks, such as the error in the request. */
  remarks: string | null;
  /** Whether the license was valid. */
  valid: boolean;
  /** False if the service failed. */
  successful: boolean;
  /** Whether it was over a rate limit. */
  rateLimited: boolean;
  /** Whether a blacklist entry blocked it. */
  blocked: boolean;
  /** Whether its address sent too many unknown keys. */
  spam: boolean;
}

/** The interface of a validation. */
export type RequestType = 'V1_VALIDATE' | 'V2_VALIDATE';

/** The outcome of a validation. */
export type ResponseType = 'INVALID_REQUEST' | 'RATE_LIMITED' | 'IP_BLACKLISTED' | 'HWID_BLACKLISTED' | 'LICENSE_NOT_FOUND' | 'PRODUCT_MISMATCH' | 'LICENSE_DELETED' | 'LICENSE_DEACTIVATED' | 'LICENSE_EXPIRED' | 'MAX_IPS_REACHED' | 'MAX_HWIDS_REACHED' | 'VALID' | 'ERROR';

/** The statistics of a period. */
export interface Statistics {
  /** The first millisecond of the first step. */
  from: string;
  /** The last millisecond of the last step. */
  to: string;
  /** The length of a step. */
  step: 'hour' | 'day';
  /** All steps, the oldest first. */
  series: StatisticsStep[];
  /** The 10 products with the most active licenses, or the one that was asked for. */
  products: ProductStatistics[];
  /** The licenses by status. */
  licenses: LicenseStatistics;
  /** The 20 most frequent versions of each of these products. */
  versions: VersionStatistics[];
  /** The licenses that expire in the next 26 weeks, by day in UTC. */
  expiries: ExpiryStatistics[];
  /** Hours in which requests of any product are missing in the history and in `series`; usually empty. */
  gaps: Gap[];
}

/** The validations of an hour or a day by outcome. */
export interface StatisticsStep {
  /** The first millisecond of the step. */
  time: string;
  /** Validations with this outcome; absent if there are none. */
  INVALID_REQUEST?: number | undefined;
  /** Validations with this outcome; absent if there are none. */
  RATE_LIMITED?: number | undefined;
  /** Validations with this outcome; absent if there are none. */
  IP_BLACKLISTED?: number | undefined;
  /** Validations with this outcome; absent if there are none. */
  HWID_BLACKLISTED?: number | undefined;
  /** Validations with this outcome; absent if there are none. */
  LICENSE_NOT_FOUND?: number | undefined;
  /** Validations with this outcome; absent if there are none. */
  PRODUCT_MISMATCH?: number | undefined;
  /** Validations with this outcome; absent if there are none. */
  LICENSE_DELETED?: number | undefined;
  /** Validations with this outcome; absent if there are none. */
  LICENSE_DEACTIVATED?: number | undefined;
  /** Validations with this outcome; absent if there are none. */
  LICENSE_EXPIRED?: number | undefined;
  /** Validations with this outcome; absent if there are none. */
  MAX_IPS_REACHED?: number | undefined;
  /** Validations with this outcome; absent if there are none. */
  MAX_HWIDS_REACHED?: number | undefined;
  /** Validations with this outcome; absent if there are none. */
  VALID?: number | undefined;
  /** Validations with this outcome; absent if there are none. */
  ERROR?: number | undefined;
}

/** The statistics of a product. */
export interface ProductStatistics {
  /** The id of the product. */
  productId: number;
  /** The name of the product. */
  productName: string;
  /** Its active licenses. */
  active: number;
  /** The validations of its licenses in the period, whatever their outcome. */
  validations: number;
}

/** The number of licenses. */
export interface LicenseStatistics {
  /** When the licenses were counted. */
  countedAt: string;
  /** Licenses that are `ACTIVE`. */
  active: number;
  /** Those that were active on the first day of the period; null if unknown. */
  activeBefore: number | null;
  /** Licenses that are `DEACTIVATED`. */
  deactivated: number;
  /** Licenses that are `EXPIRED`. */
  expired: number;
}

/** The installations of a version. */
export interface VersionStatistics {
  /** The id of the product. */
  productId: number;
  /** As programs sent it; null for those that sent none. */
  productVersion: string | null;
  /** The installations of this version. */
  installations: number;
}

/** The licenses that expire on a day. */
export interface ExpiryStatistics {
  /** The day, in UTC. */
  date: string;
  /** The licenses that expire on it. */
  licenses: number;
}

/** Requests that are missing in the history. */
export interface Gap {
  /** The first millisecond of the hour. */
  time: string;
  /** The requests that were given up, because the database did not store their records. */
  requests: number;
}

/** An owner of licenses in a list [2.5]. */
export interface ListedCustomer {
  /** Set by the service. */
  id: number;
  /** First name. */
  firstName: string | null;
  /** Last name. */
  lastName: string | null;
  /** Name of the account. */
  username: string | null;
  /** Unique without regard to case. */
  email: string | null;
  /** Free text. */
  phoneNumber: string | null;
  /** Address of a picture. An http or https address. */
  profilePictureUrl: string | null;
  /** Always null. */
  passwordHash: null;
  /** Free text. */
  role: string | null;
  /** Free text. */
  status: string | null;
  /** Set by the service. */
  createdAt: string;
  /** Always null. */
  lastLoginAt: null;
  /** Account at Discord: its id. */
  chatId: string | null;
  /** Account at Discord: its name. */
  chatUsername: string | null;
  /** Account at Discord: its picture. An http or https address. */
  chatAvatarUrl: string | null;
  /** Always null. */
  chatAccessToken: null;
  /** Always null. */
  chatRefreshToken: null;
  /** Always null. */
  chatTokenExpiry: null;
  /** Account on the platform or market: its id. */
  platformAId: string | null;
  /** Account on the platform or market: its name. */
  platformAUsername: string | null;
  /** Account on the platform or market: its id. */
  platformBId: string | null;
  /** Account on the platform or market: its name. */
  platformBUsername: string | null;
  /** Account on the platform or market: its id. */
  platformCId: string | null;
  /** Account on the platform or market: its name. */
  platformCUsername: string | null;
  /** Account on the platform or market: its id. */
  marketAId: string | null;
  /** Account on the platform or market: its name. */
  marketAUsername: string | null;
  /** Account on the platform or market: its id. */
  marketBId: string | null;
  /** Account on the platform or market: its name. */
  marketBUsername: string | null;
  /** Texts of your own, by their names: at most 20 of 500 characters. A PUT replaces all of them; a name with an empty text is left out, and null leaves none. For administrators and shops: no validation and no page of a customer shows them. */
  metadata: Record<string, string>;
  /** The licenses of the customer that are not DELETED; only if asked for. */
  licenseCount?: number | undefined;
}

/** All that the service holds about a person. */
export interface CustomerExport {
  /** The customer. */
  customer: Customer;
  /** The licenses of the customer or of an account of the customer, also `DELETED` ones. */
  licenses: License[];
  /** The keys that these licenses had before. */
  replacedKeys: ReplacedKey[];
  /** The history of the licenses of the customer, the newest first. */
  requests: LicenseRequest[];
  /** The machines that asked with the keys. */
  installations: ExportedInstallation[];
  /** The events about the customer and the licenses, the newest first. */
  events: Event[];
  /** The responses of receivers to these events. */
  responses: ReceiverResponse[];
  /** The purchases at markets. */
  purchases: Purchase[];
  /** The requests of markets about the purchases, of 30 days. */
  marketDeliveries: ExportedMarketDelivery[];
  /** The orders of the purchases. */
  orders: ExportedOrder[];
  /** The links to the customer's page. */
  links: PageAccess[];
  /** The sessions of the customer's page. */
  sessions: PageAccess[];
  /** The mails of 30 days, without their texts, which are not stored. */
  mails: Mail[];
  /** The codes that link an account at Discord. */
  linkCodes: PageAccess[];
  /** The roles at Discord. */
  roles: DiscordRole[];
  /** The lists that have a part of their entries, because there are too many. */
  cut: ('licenses' | 'replacedKeys' | 'requests' | 'installations' | 'events' | 'responses' | 'purchases' | 'marketDeliveries' | 'orders' | 'links' | 'sessions' | 'mails' | 'linkCodes' | 'roles')[];
}

/** A key that a license had before. */
export interface ReplacedKey {
  /** The license. */
  licenseId: number;
  /** The key, in upper case. */
  licenseKey: string;
  /** When the license got another key. */
  replacedAt: string;
}

/** A machine that asked with the key of a license, also without a record in the history. */
export interface ExportedInstallation {
  /** Its id. */
  id: number;
  /** The license. */
  licenseId: number;
  /** As it was sent. */
  licenseKey: string | null;
  /** As it was sent. */
  productId: number | null;
  /** As it was sent. */
  productVersion: string | null;
  /** The address that was checked: of the body, else of the connection. */
  ip: string | null;
  /** As it was sent. */
  hwid: string | null;
  /** As it was sent. */
  macAddress: string | null;
  /** As it was sent. */
  operatingSystem: string | null;
  /** As it was sent. */
  operatingSystemVersion: string | null;
  /** As it was sent. */
  operatingSystemArchitecture: string | null;
  /** As it was sent. */
  javaVersion: string | null;
  /** When it asked for the first time. */
  firstSeen: string;
  /** When it asked for the last time, as of the last aggregation: up to a day before. */
  lastSeen: string;
}

/** An event: a change and its sender, or what the service has found in the history [6]. */
export interface Event {
  /** Its id, which grows with the time. */
  id: number;
  /** The time of the change. */
  time: string;
  /** The resource and its change. `license.slots_freed`: fewer addresses or hardware IDs are bound. `license.rotated`: it has a new key. `license.transferred`: it has another owner, and a new key. `license.redeemed`: an account at Discord got it by its key; the service makes this event. The service also makes these, each at most once for a license and day: `license.first_used`, `license.limit_reached` (a validation found no free slot), `license.expiring` (7 days and 1 day before), `license.expired`, `license.many_addresses`, `blacklist.hit` (a program of the license was blocked); and `webhook.disabled`. */
  type: EventType;
  /** The sender of the change. */
  actor: EventActor;
  /** The address from which the request came; null if it is unknown. */
  ip: string | null;
  /** The kind of object. */
  resourceType: EventResource;
  /** Its id; null for many objects at once, and for a session. */
  resourceId: number | null;
  /** The fields that changed, with `customerId` for the owner of a license, and `count` for the objects of a batch or an import. A license key is cut to its last group; a secret is never shown. Long values are shortened. Null without fields. An event of the service has in `after` the values that it is about. */
  changes: Record<string, EventChange> | null;
}

/** The sender of a change: a token, a customer, a program, or the service. */
export interface EventActor {
  /** The id of the token; null for `ROOT_TOKEN`, a customer and the service. */
  tokenId: number | null;
  /** The name of the token, `root` for `ROOT_TOKEN`, `customer` for a customer, `program` for a program that took the license over, `service` for the service, and `discord:` with the id of the account for an administrator at Discord. */
  tokenName: string;
  /** Whether the change was made in the console. */
  isConsole: boolean;
  /** Whether an assistant made the change with the token. */
  isMcp: boolean;
  /** The id of the customer who made the change; null for others. */
  customerId: number | null;
}

/** A field of a changed object. */
export interface EventChange {
  /** The value before; null for a new object. */
  before: unknown;
  /** The value after; null for a deleted object. */
  after: unknown;
}

/** The response of a receiver of webhooks to an event about the person. */
export interface ReceiverResponse {
  /** The webhook. */
  webhookId: number;
  /** The event. */
  eventId: number;
  /** The beginning of the response. */
  response: string;
}

/** A purchase at a market, and its license. */
export interface Purchase {
  /** Set by the service. */
  id: number;
  /** The market. */
  marketId: number;
  /** The id of the product at the market. */
  item: string;
  /** The buyer, at BuiltByBit and Voxel Shop, else the order line: one purchase for each reference and item. */
  reference: string;
  /** Counts the licenses of a quantity, from 0. */
  unit: number;
  /** The id of the order; null without one. */
  order: string | null;
  /** The id of the buyer at the market. */
  buyerId: string | null;
  /** The name of the buyer at the market. */
  buyerName: string | null;
  /** The e-mail of a buyer whose purchase has no license yet, where the market gives one. After that, the customer of the license has it. */
  email: string | null;
  /** The amount that was paid for all its licenses, in whole units such as `9.99`, as the market says it: of a subscription the first payment. Null if the market does not say it, and for `unit` above 0. */
  amount: string | null;
  /** The currency of the amount, by ISO 4217; null if the market does not say it. */
  currency: string | null;
  /** The quantity that was bought. */
  quantity: number;
  /** Whether it is a test of the market. */
  isTest: boolean;
  /** Whether it has its license, has lost it, or waits for a product. */
  state: PurchaseState;
  /** Why it is not `GRANTED`; null if it is. */
  reason: string | null;
  /** Whether a person decided that it needs no license. It gets none, and is not reported again. */
  isIgnored: boolean;
  /** The name of the market; null if it is deleted. */
  marketName: string | null;
  /** Its license; null before it has one. */
  licenseId: number | null;
  /** The key of the license. */
  licenseKey: string | null;
  /** The customer of the license. */
  customerId: number | null;
  /** The product of the license. */
  productId: number | null;
  /** The name of this product. */
  productName: string | null;
  /** The time of the first notice about it. */
  createdAt: string;
  /** The time of its last change. */
  updatedAt: string;
  /** Since when it is `REVOKED`; null if it is not, or was revoked before this was stored. */
  revokedAt: string | null;
}

/** A request that arrived from a market about a purchase of the person. */
export interface ExportedMarketDelivery {
  /** The market. */
  marketId: number;
  /** Its id, which grows with the time. */
  id: number;
  /** When it arrived. */
  time: string;
  /** The type of event at the market; null if it is unknown. */
  type: string | null;
  /** The id that the market gave it; null without one. */
  eventId: string | null;
  /** Whether its signature or secret was right: it comes from the market. */
  isFromMarket: boolean;
  /** Whether it comes from the market, and was understood. */
  isAccepted: boolean;
  /** The HTTP status of the response: below 400 if it got what it asked for. */
  status: number;
  /** Whether a purchase or a license changed, nothing was to do, or a person is needed. Null if it does not come from the market, and if the service failed: the market then sends it again. */
  effect: NoticeEffect | null;
  /** The effect in words, or why it was not accepted. */
  result: string;
  /** The product of the market that it is about; null if it names none. */
  item: string | null;
  /** The order, payment or subscription that it is about, else the reference of the purchase: `q` of purchases finds it. Null without one, and once the buyer is forgotten. */
  order: string | null;
  /** The first 4 KB of the body, without secrets, e-mail addresses, names and IP addresses. Null if it does not come from the market; empty once the buyer is forgotten. */
  body: string | null;
}

/** The effect of a request of a market: a purchase or a license changed, nothing was to do, or a person is needed. */
export type NoticeEffect = 'CHANGED' | 'NOTHING' | 'NEEDS_PERSON';

/** An order, a payment or a subscription at a market that has the e-mail of the buyer. */
export interface ExportedOrder {
  /** The market. */
  marketId: number;
  /** Its id at the market. */
  order: string;
  /** The e-mail of the buyer. */
  email: string;
}

/** A link to the customer's page, a session of it, or a code that links an account. Its secret is not stored. */
export interface PageAccess {
  /** The account that it belongs to; null for the customer. */
  chatId: string | null;
  /** Until when it works. */
  expiresAt: string;
  /** When the link was used; null for others. */
  usedAt: string | null;
}

/** A role of an account of the person at Discord. */
export interface DiscordRole {
  /** The account at Discord. */
  chatId: string;
  /** The role. */
  roleId: string;
  /** False if it could not be given yet. */
  isGiven: boolean;
}

/** An API token, without its secret [5]. */
export interface Token {
  /** Set by the service. */
  id: number;
  /** The name of the user or program. */
  name: string;
  /** The permissions. */
  intents: ApiIntent[];
  /** From this millisecond on it is rejected; null if it does not expire. */
  expiresAt: string | null;
  /** To within five minutes. */
  lastUsedAt: string | null;
  /** The host of the assistant that got it by consent (12.7); null for a token with a secret. */
  client: string | null;
  /** Set by the service. */
  createdAt: string;
  /** Set by the service. */
  updatedAt: string;
}

/** An API token, with its secret [5]. */
export interface CreatedToken {
  /** Set by the service. */
  id: number;
  /** The name of the user or program. */
  name: string;
  /** The permissions. */
  intents: ApiIntent[];
  /** From this millisecond on it is rejected; null if it does not expire. */
  expiresAt: string | null;
  /** To within five minutes. */
  lastUsedAt: string | null;
  /** The host of the assistant that got it by consent (12.7); null for a token with a secret. */
  client: string | null;
  /** Set by the service. */
  createdAt: string;
  /** Set by the service. */
  updatedAt: string;
  /** The secret, shown this once. */
  token: string;
}

/** The token of the request [5]. */
export interface OwnToken {
  /** Null for ROOT_TOKEN. */
  id: number | null;
  /** The name of the user or program; `root` for ROOT_TOKEN. */
  name: string;
  /** The permissions. */
  intents: ApiIntent[];
  /** From this millisecond on it is rejected; null if it does not expire. */
  expiresAt: string | null;
}

/** A webhook: an address to which events are sent. */
export interface Webhook {
  /** Set by the service. */
  id: number;
  /** Where the events are sent, as `https` to a public host. Of an address of Discord, the token is shown as `***`; a PUT of the shown address keeps it. */
  url: string;
  /** Unless set, `discord` for an address of Discord, else `standard`. */
  format: WebhookFormat;
  /** The types of events that are sent. Empty, the default, for all. */
  types: WebhookType[];
  /** Whether events are sent. Events from while it was off are not sent later. */
  enabled: boolean;
  /** Free text. */
  description: string;
  /** Set by the service. */
  createdAt: string;
  /** Set by the service. */
  updatedAt: string;
  /** To within five minutes. */
  lastSuccessAt: string | null;
  /** The first failure since the last success. After five days the service switches the webhook off. */
  failingSince: string | null;
  /** Why the service switched the webhook off; null unless it did. */
  disabledReason: string | null;
}

/** A webhook, with its secret. */
export interface WebhookWithSecret {
  /** Set by the service. */
  id: number;
  /** Where the events are sent, as `https` to a public host. Of an address of Discord, the token is shown as `***`; a PUT of the shown address keeps it. */
  url: string;
  /** Unless set, `discord` for an address of Discord, else `standard`. */
  format: WebhookFormat;
  /** The types of events that are sent. Empty, the default, for all. */
  types: WebhookType[];
  /** Whether events are sent. Events from while it was off are not sent later. */
  enabled: boolean;
  /** Free text. */
  description: string;
  /** Set by the service. */
  createdAt: string;
  /** Set by the service. */
  updatedAt: string;
  /** To within five minutes. */
  lastSuccessAt: string | null;
  /** The first failure since the last success. After five days the service switches the webhook off. */
  failingSince: string | null;
  /** Why the service switched the webhook off; null unless it did. */
  disabledReason: string | null;
  /** For the verification of signatures, shown this once. */
  secret: string;
}

/** The delivery of an event to a webhook. */
export interface Delivery {
  /** The id of the event. Its messages have the `webhook-id` `msg_` and this. */
  id: number;
  /** The type of the event; `ping` for a test. */
  type: string;
  /** The time of the event. */
  time: string;
  /** Whether it has arrived, or another attempt follows. */
  state: DeliveryState;
  /** The number of attempts until now. */
  attempts: number;
  /** The time of the last attempt. */
  attemptedAt: string | null;
  /** The HTTP status of the last attempt; null without a response. */
  status: number | null;
  /** Why the last attempt failed; null if it did not. */
  error: string | null;
  /** The duration of the last attempt, in milliseconds. */
  durationMs: number | null;
  /** The time of the next attempt at the earliest; null without one. */
  nextAttemptAt: string | null;
  /** The body that is sent; null if the event is no longer kept. */
  request: string | null;
  /** The first 4 KB of the response to the last attempt. Only a token with `ALL_READ_WRITE` sees it. */
  response: string | null;
}

/** A market: purchases there make licenses, and refunds deactivate them. */
export interface Market {
  /** Set by the service. */
  id: number;
  /** Does not change. */
  kind: MarketKind;
  /** For people. */
  name: string;
  /** Whether its requests are accepted. */
  enabled: boolean;
  /** The products of the market, and the licenses that a purchase of each makes. */
  products: MarketProductOutput[];
  /** The effect of a refund in full. A partial refund has none. */
  onRefund: RefundAction;
  /** The effect of a dispute or chargeback. A dispute that ends without a loss restores the license. */
  onDispute: DisputeAction;
  /** For `dynamic` only, which needs it: how its requests are signed and read. */
  settings: DynamicSettingsOutput | null;
  /** Whether buyers get the key by e-mail, once mails of the kind `key` are switched on (13). By default where the market shows them nothing of the response: `stripe`, `tebex` and `paynow`. */
  mailsKey: boolean;
  /** The addresses to paste into the market. The first takes everything that the market sends. Each is a secret. */
  addresses: string[];
  /** Whether others can open the address. If false, only the machine of the service and its network can: set the variable `PUBLIC_URL`. */
  isPublic: boolean;
  /** The number of `secrets`. Without one, every request is rejected. */
  secretCount: number;
  /** Whether there is an `apiToken`. */
  hasApiToken: boolean;
  /** Set by the service. */
  createdAt: string;
  /** Set by the service. */
  updatedAt: string;
  /** By its settings and the last request that arrived: `NEEDS_SECRET` without a secret, `FAILING` if that request was rejected or the service failed, `NEEDS_PRODUCT` without products, with one that is deleted, or with a purchase that waits for one, `WAITING` before the first request, else `WORKS`. */
  state: MarketState;
  /** The purchases of 30 days that got their licenses, without tests and those that a person entered. */
  sales: number;
  /** The time of the last one; null without. */
  lastSaleAt: string | null;
  /** When the purchases were last compared with those of the market, which needs an `apiToken`. A failure is an event `market.failing`. */
  reconciledAt: string | null;
}

/** The state of a market. One that needs something, or fails, waits for a person. */
export type MarketState = 'OFF' | 'NEEDS_SECRET' | 'FAILING' | 'NEEDS_PRODUCT' | 'WAITING' | 'WORKS';

/** A request that arrived from a market. */
export interface MarketDelivery {
  /** Its id, which grows with the time. */
  id: number;
  /** When it arrived. */
  time: string;
  /** The type of event at the market; null if it is unknown. */
  type: string | null;
  /** The id that the market gave it; null without one. */
  eventId: string | null;
  /** Whether its signature or secret was right: it comes from the market. */
  isFromMarket: boolean;
  /** Whether it comes from the market, and was understood. */
  isAccepted: boolean;
  /** The HTTP status of the response: below 400 if it got what it asked for. */
  status: number;
  /** Whether a purchase or a license changed, nothing was to do, or a person is needed. Null if it does not come from the market, and if the service failed: the market then sends it again. */
  effect: NoticeEffect | null;
  /** The effect in words, or why it was not accepted. */
  result: string;
  /** The product of the market that it is about; null if it names none. */
  item: string | null;
  /** The order, payment or subscription that it is about, else the reference of the purchase: `q` of purchases finds it. Null without one, and once the buyer is forgotten. */
  order: string | null;
  /** The first 4 KB of the body, without secrets, e-mail addresses, names and IP addresses. Null if it does not come from the market; empty once the buyer is forgotten. */
  body: string | null;
}

/** The sales of a period. */
export interface PurchaseStatistics {
  /** The start of the period. */
  from: string;
  /** Its last millisecond. */
  to: string;
  /** The purchases, without tests and those that a person entered. A quantity is one purchase. */
  sold: number;
  /** What was paid for them, where the market says it, by currency. */
  amounts: PurchaseAmount[];
  /** Purchases of any time that were revoked for a refund. */
  refunded: number;
  /** Those that were revoked for a dispute or chargeback. */
  disputed: number;
}

/** The sum of the amounts in a currency. */
export interface PurchaseAmount {
  /** By ISO 4217; null for those that no market named. */
  currency: string | null;
  /** In whole units. */
  amount: string;
}

/** A link that opens the customer's page, once. */
export interface PortalLink {
  /** The link. Its code stands after `#`, which no server log shows. */
  url: string;
  /** Whether others can open the address. If false, only the machine of the service and its network can: set the variable `PUBLIC_URL`. */
  isPublic: boolean;
  /** The customer whose licenses it opens. */
  customerId: number;
  /** From then on it opens nothing. */
  expiresAt: string;
}

/** The mails to customers, and the state of their sender. */
export interface MailSettings {
  /** The kinds that are sent; none by default. */
  kinds: ('key' | 'link' | 'expiring')[];
  /** The language of mails to customers whose language is unknown: the one that they last used on `/my` counts. */
  language: 'en' | 'de' | 'fr' | 'es' | 'pt';
  /** Your own texts, by language and kind, as plain text with `{name}`, `{product}`, `{key}`, `{expiry}`, `{days}` and `{link}`. What you send replaces all of them. */
  texts: Record<string, Record<string, MailText>>;
  /** The settings of the operator; null without `MAIL`, and for one that is wrong. */
  sender: MailSender | null;
  /** Why no mail can be sent, and the remedy; null if mails are sent. */
  fault: string | null;
  /** The words of Licet, by language and kind. */
  defaults: MailDefaults;
}

/** The sender of mails, as the operator has set it up. */
export interface MailSender {
  /** The way in which mails leave. */
  adapter: 'resend' | 'smtp' | 'cloudflare';
  /** The host that takes the mails. */
  server: string;
  /** `MAIL_FROM`. */
  from: string;
  /** `MAIL_REPLY_TO`. */
  replyTo: string | null;
  /** `MAIL_DAILY_LIMIT`: mails a day, UTC. */
  dailyLimit: number;
  /** The mails of this day that count. */
  sentToday: number;
}

/** The words of Licet in a mail. */
export interface DefaultMailText {
  /** One line. */
  subject: string;
  /** The lines before the facts. */
  greeting: string;
  /** The lines after the facts. */
  closing: string;
}

/** The words of Licet in a language, by kind. */
export interface DefaultMailTexts {
  /** With the key of a license. */
  key: DefaultMailText;
  /** With a link to the page of the customer. */
  link: DefaultMailText;
  /** Before licenses end. */
  expiring: DefaultMailText;
}

/** The words of Licet, by language and kind. */
export interface MailDefaults {
  /** English. */
  en: DefaultMailTexts;
  /** German. */
  de: DefaultMailTexts;
  /** French. */
  fr: DefaultMailTexts;
  /** Spanish. */
  es: DefaultMailTexts;
  /** Portuguese. */
  pt: DefaultMailTexts;
}

/** A mail as it would be sent. */
export interface MailPreview {
  /** The subject. */
  subject: string;
  /** The plain text. */
  text: string;
  /** The page, which loads nothing from elsewhere. */
  html: string;
}

/** How the customer's page shows you. */
export interface PortalSettings {
  /** Your name, in the head of the page; empty for none. */
  name: string;
  /** The colour of its buttons; null for that of Licet. */
  colour: string | null;
  /** Where customers get help: a web address, such as an invitation to a chat, or `mailto:`. */
  contact: string | null;
  /** A picture of at most 32 KB as a `data:` URL: the page loads nothing from elsewhere. */
  logo: string | null;
}

/** The application at Discord. */
export interface DiscordSettings {
  /** The id of the application; null switches it off. */
  applicationId: string | null;
  /** The public key of the application. */
  publicKey: string | null;
  /** The server whose commands are obeyed. */
  guildId: string | null;
  /** The role that may use the commands of administrators; null for administrators of the server alone. */
  adminRoleId: string | null;
  /** Whether there is a token, which only roles need. */
  hasBotToken: boolean;
  /** Why roles could not be given the last time, and the remedy; null if they could. */
  rolesFault: string | null;
  /** The address to enter as *Interactions Endpoint URL*. */
  interactionsUrl: string;
  /** Whether others can open the address. If false, only the machine of the service and its network can: set the variable `PUBLIC_URL`. */
  isPublic: boolean;
}

/** Whether the bot can give the roles of the products. */
export interface DiscordTest {
  /** The number of roles that products give. */
  roles: number;
  /** Why roles cannot be given, and the remedies. */
  faults: string[];
}

/** The results of an import. */
export interface ImportResponse {
  /** In the order of the items. */
  results: ImportResult[];
  /** The customers that were created as owners of licenses. A dry run counts them again in each request. */
  createdOwners: number;
}

/** The result of one item. */
export interface ImportResult {
  /** `created`; `unchanged` if it existed; `kept` if it existed with other values, which stay; or `refused`, for a rejected item. */
  outcome: 'created' | 'unchanged' | 'kept' | 'refused';
  /** Its id; null if it was rejected, or would get a new one. */
  id: number | null;
  /** The fields in which the stored object differs from the item; `id` if that was in use. */
  differences: string[];
  /** Why it was rejected, or which values of a new one belong to another object: each field, value and reason. */
  reason: string | null;
}

/** A product of a market, the product that it stands for, and the licenses that are made for it. */
export interface MarketProductOutput {
  /** The id of the product at the market. */
  item: string;
  /** The product of the licenses. */
  productId: number;
  /** `TEMPORARY` needs `expiresAfterDays`, here or at the product. */
  licenseType: LicenseType;
  /** For `TEMPORARY`: the days from the first use. Null for that of the product. */
  expiresAfterDays: number | null;
  /** Null for that of the product. */
  maxIPs: number | null;
  /** Null for that of the product. */
  maxHWIDs: number | null;
  /** `entitlements` of the licenses, such as an edition that is sold. None if it is left out. */
  entitlements?: Record<string, true | number | string> | null | undefined;
  /** Whether a quantity above one makes one license each, or one license with larger limits. */
  quantity: QuantityMeaning;
}

/** How the requests of a shop are signed and read. */
export interface DynamicSettingsOutput {
  /** How a request shows that it comes from the shop. */
  signature: HmacSignatureOutput | SentSecretOutput;
  /** The path of the id of the product. */
  item: string;
  /** The path of the id of the order line, or of the order: one license each. Where a line has no id, join more with `+`, such as `order_id+variant_id`. */
  line: string;
  /** The path of the id of the order. */
  order: string | null;
  /** The path of the id of the buyer. */
  buyer: string | null;
  /** The path of the name of the buyer. */
  buyerName: string | null;
  /** The path of the e-mail of the buyer. */
  email: string | null;
  /** The path of the quantity; 1 without one. */
  quantity: string | null;
  /** The path of the type of event. */
  event: string | null;
  /** The types of event that ask for a key; empty for all. Others are accepted and ignored. */
  deliverOn: string[];
  /** The response as JSON, in which `{keys}` stands for the keys, one a line, and `"{count}"` for their number. Null for the keys as text. */
  response: string | null;
}

/** A signature by HMAC-SHA256. */
export interface HmacSignatureOutput {
  /** HMAC-SHA256 of a message, in a header. */
  kind: 'hmac';
  /** The header with the signature. */
  header: string;
  /** The encoding of the signature. */
  encoding: 'hex' | 'base64';
  /** Text before the signature, such as `sha256=`. */
  prefix: string;
  /** For a header such as `t=1,v1=ab`: the name of the part with the signature. */
  part: string | null;
  /** The signed text, of `{body}`, `{time}` and `{id}`, such as `{time}.{body}`. */
  message: string;
  /** The header with `{time}`, in seconds. */
  timeHeader: string | null;
  /** The header with `{id}`. */
  idHeader: string | null;
}

/** The secret itself, in a header or in the body. */
export interface SentSecretOutput {
  /** The secret itself. */
  kind: 'secret';
  /** The header with the secret. */
  header: string | null;
  /** The field of the body with the secret. */
  field: string | null;
}

/** The kind of an error of v2, for programs (3.1). */
export type ErrorCode = 'INVALID_JSON' | 'MISSING_FIELD' | 'UNKNOWN_FIELD' | 'INVALID_VALUE' | 'INVALID_REQUEST' | 'UNAUTHORIZED' | 'FORBIDDEN' | 'NOT_FOUND' | 'METHOD_NOT_ALLOWED' | 'BODY_TIMEOUT' | 'CONFLICT' | 'CHANGED_MEANWHILE' | 'PRECONDITION_FAILED' | 'BODY_TOO_LARGE' | 'UNSUPPORTED_ENCODING' | 'IDEMPOTENCY_KEY_REUSED' | 'TOO_MANY_REQUESTS' | 'INTERNAL_ERROR' | 'UNAVAILABLE';

/** Filters: List products */
export interface ListProductsQuery {
  /** The number of objects on a page. A page has fewer only if it is the last one. */
  limit?: number | undefined;
  /** The id of the last object of the page before. */
  after?: number | undefined;
  /** Only products of this type. */
  productType?: ProductType | undefined;
  /** Text to find, such as `guard`, without regard to the case of A to Z. */
  q?: string | undefined;
}

/** Filters: Delete a product */
export interface DeleteProductQuery {
  /** Whether the product is deleted although a market sells it. A later purchase of it waits for another product. */
  evenIfSold?: boolean | undefined;
}

/** Filters: List licenses */
export interface ListLicensesQuery {
  /** The number of objects on a page. A page has fewer only if it is the last one. */
  limit?: number | undefined;
  /** The id of the last object of the page before. */
  after?: number | undefined;
  /** Only licenses with this status. `DELETED` ones are in no list without it. */
  licenseStatus?: LicenseStatus | undefined;
  /** Only licenses of this type. */
  licenseType?: LicenseType | undefined;
  /** Only objects of this product. */
  productId?: number | undefined;
  /** Text to find, such as `guard`, without regard to the case of A to Z. */
  q?: string | undefined;
  /** Only objects with exactly this text under this name in `metadata`: the name, a colon and the text. */
  metadata?: string | undefined;
  /** Only licenses for which this entitlement counts: its name, or its name, a colon and its value. */
  entitlement?: string | undefined;
  /** Only licenses that expire at this time or later: ISO 8601, or a date alone. */
  expiresFrom?: string | undefined;
  /** Only licenses that expire at this time or earlier. */
  expiresTo?: string | undefined;
  /** `true`: only licenses without a validation. `false`: only licenses with one. */
  unused?: boolean | undefined;
  /** Only licenses that were used before, and not within this number of days. */
  dormantDays?: number | undefined;
  /** `true`: only licenses without a free slot for an address or a hardware ID. `false`: only the others. */
  full?: boolean | undefined;
  /** `true`: only licenses with a slot that is idle, which a new value may take. `false`: only the others. */
  idleSlots?: boolean | undefined;
  /** Only licenses whose programs asked from this address or CIDR range, as far as the history goes back. */
  ip?: string | undefined;
  /** The order; `-` is descending. `expiryDate` lists only licenses that expire, and is the default with `expiresFrom` or `expiresTo`. Otherwise `id` is the default. */
  sort?: 'id' | '-id' | 'expiryDate' | '-expiryDate' | undefined;
  /** Without `X-Total-Count` if false: a page of a large list then takes less time. */
  total?: boolean | undefined;
}

/** Filters: List the installations of a license */
export interface ListInstallationsQuery {
  /** The number of objects on a page. A page has fewer only if it is the last one. */
  limit?: number | undefined;
  /** The id of the last object of the page before. */
  after?: number | undefined;
}

/** Filters: List licenses of the customer with an e-mail */
export interface FindLicensesByCustomerEmailQuery {
  /** The number of objects on a page. A page has fewer only if it is the last one. */
  limit?: number | undefined;
  /** The id of the last object of the page before. */
  after?: number | undefined;
  /** Only licenses with this status. `DELETED` ones are in no list without it. */
  licenseStatus?: LicenseStatus | undefined;
  /** Only licenses of this type. */
  licenseType?: LicenseType | undefined;
  /** Only objects of this product. */
  productId?: number | undefined;
  /** Text to find, such as `guard`, without regard to the case of A to Z. */
  q?: string | undefined;
  /** Only objects with exactly this text under this name in `metadata`: the name, a colon and the text. */
  metadata?: string | undefined;
  /** Only licenses for which this entitlement counts: its name, or its name, a colon and its value. */
  entitlement?: string | undefined;
  /** Only licenses that expire at this time or later: ISO 8601, or a date alone. */
  expiresFrom?: string | undefined;
  /** Only licenses that expire at this time or earlier. */
  expiresTo?: string | undefined;
  /** `true`: only licenses without a validation. `false`: only licenses with one. */
  unused?: boolean | undefined;
  /** Only licenses that were used before, and not within this number of days. */
  dormantDays?: number | undefined;
  /** `true`: only licenses without a free slot for an address or a hardware ID. `false`: only the others. */
  full?: boolean | undefined;
  /** `true`: only licenses with a slot that is idle, which a new value may take. `false`: only the others. */
  idleSlots?: boolean | undefined;
  /** Only licenses whose programs asked from this address or CIDR range, as far as the history goes back. */
  ip?: string | undefined;
  /** The order; `-` is descending. `expiryDate` lists only licenses that expire, and is the default with `expiresFrom` or `expiresTo`. Otherwise `id` is the default. */
  sort?: 'id' | '-id' | 'expiryDate' | '-expiryDate' | undefined;
  /** Without `X-Total-Count` if false: a page of a large list then takes less time. */
  total?: boolean | undefined;
}

/** Filters: List licenses of an owner on a platform */
export interface FindLicensesByPlatformQuery {
  /** The number of objects on a page. A page has fewer only if it is the last one. */
  limit?: number | undefined;
  /** The id of the last object of the page before. */
  after?: number | undefined;
  /** Only licenses with this status. `DELETED` ones are in no list without it. */
  licenseStatus?: LicenseStatus | undefined;
  /** Only licenses of this type. */
  licenseType?: LicenseType | undefined;
  /** Only objects of this product. */
  productId?: number | undefined;
  /** Text to find, such as `guard`, without regard to the case of A to Z. */
  q?: string | undefined;
  /** Only objects with exactly this text under this name in `metadata`: the name, a colon and the text. */
  metadata?: string | undefined;
  /** Only licenses for which this entitlement counts: its name, or its name, a colon and its value. */
  entitlement?: string | undefined;
  /** Only licenses that expire at this time or later: ISO 8601, or a date alone. */
  expiresFrom?: string | undefined;
  /** Only licenses that expire at this time or earlier. */
  expiresTo?: string | undefined;
  /** `true`: only licenses without a validation. `false`: only licenses with one. */
  unused?: boolean | undefined;
  /** Only licenses that were used before, and not within this number of days. */
  dormantDays?: number | undefined;
  /** `true`: only licenses without a free slot for an address or a hardware ID. `false`: only the others. */
  full?: boolean | undefined;
  /** `true`: only licenses with a slot that is idle, which a new value may take. `false`: only the others. */
  idleSlots?: boolean | undefined;
  /** Only licenses whose programs asked from this address or CIDR range, as far as the history goes back. */
  ip?: string | undefined;
  /** The order; `-` is descending. `expiryDate` lists only licenses that expire, and is the default with `expiresFrom` or `expiresTo`. Otherwise `id` is the default. */
  sort?: 'id' | '-id' | 'expiryDate' | '-expiryDate' | undefined;
  /** Without `X-Total-Count` if false: a page of a large list then takes less time. */
  total?: boolean | undefined;
}

/** Filters: List licenses of a customer */
export interface FindLicensesByCustomerIdQuery {
  /** The number of objects on a page. A page has fewer only if it is the last one. */
  limit?: number | undefined;
  /** The id of the last object of the page before. */
  after?: number | undefined;
  /** Only licenses with this status. `DELETED` ones are in no list without it. */
  licenseStatus?: LicenseStatus | undefined;
  /** Only licenses of this type. */
  licenseType?: LicenseType | undefined;
  /** Only objects of this product. */
  productId?: number | undefined;
  /** Text to find, such as `guard`, without regard to the case of A to Z. */
  q?: string | undefined;
  /** Only objects with exactly this text under this name in `metadata`: the name, a colon and the text. */
  metadata?: string | undefined;
  /** Only licenses for which this entitlement counts: its name, or its name, a colon and its value. */
  entitlement?: string | undefined;
  /** Only licenses that expire at this time or later: ISO 8601, or a date alone. */
  expiresFrom?: string | undefined;
  /** Only licenses that expire at this time or earlier. */
  expiresTo?: string | undefined;
  /** `true`: only licenses without a validation. `false`: only licenses with one. */
  unused?: boolean | undefined;
  /** Only licenses that were used before, and not within this number of days. */
  dormantDays?: number | undefined;
  /** `true`: only licenses without a free slot for an address or a hardware ID. `false`: only the others. */
  full?: boolean | undefined;
  /** `true`: only licenses with a slot that is idle, which a new value may take. `false`: only the others. */
  idleSlots?: boolean | undefined;
  /** Only licenses whose programs asked from this address or CIDR range, as far as the history goes back. */
  ip?: string | undefined;
  /** The order; `-` is descending. `expiryDate` lists only licenses that expire, and is the default with `expiresFrom` or `expiresTo`. Otherwise `id` is the default. */
  sort?: 'id' | '-id' | 'expiryDate' | '-expiryDate' | undefined;
  /** Without `X-Total-Count` if false: a page of a large list then takes less time. */
  total?: boolean | undefined;
}

/** Filters: List licenses for a product */
export interface FindLicensesByProductIdQuery {
  /** The number of objects on a page. A page has fewer only if it is the last one. */
  limit?: number | undefined;
  /** The id of the last object of the page before. */
  after?: number | undefined;
  /** Only licenses with this status. `DELETED` ones are in no list without it. */
  licenseStatus?: LicenseStatus | undefined;
  /** Only licenses of this type. */
  licenseType?: LicenseType | undefined;
  /** Text to find, such as `guard`, without regard to the case of A to Z. */
  q?: string | undefined;
  /** Only objects with exactly this text under this name in `metadata`: the name, a colon and the text. */
  metadata?: string | undefined;
  /** Only licenses for which this entitlement counts: its name, or its name, a colon and its value. */
  entitlement?: string | undefined;
  /** Only licenses that expire at this time or later: ISO 8601, or a date alone. */
  expiresFrom?: string | undefined;
  /** Only licenses that expire at this time or earlier. */
  expiresTo?: string | undefined;
  /** `true`: only licenses without a validation. `false`: only licenses with one. */
  unused?: boolean | undefined;
  /** Only licenses that were used before, and not within this number of days. */
  dormantDays?: number | undefined;
  /** `true`: only licenses without a free slot for an address or a hardware ID. `false`: only the others. */
  full?: boolean | undefined;
  /** `true`: only licenses with a slot that is idle, which a new value may take. `false`: only the others. */
  idleSlots?: boolean | undefined;
  /** Only licenses whose programs asked from this address or CIDR range, as far as the history goes back. */
  ip?: string | undefined;
  /** The order; `-` is descending. `expiryDate` lists only licenses that expire, and is the default with `expiresFrom` or `expiresTo`. Otherwise `id` is the default. */
  sort?: 'id' | '-id' | 'expiryDate' | '-expiryDate' | undefined;
  /** Without `X-Total-Count` if false: a page of a large list then takes less time. */
  total?: boolean | undefined;
}

/** Filters: List licenses of an owner at Discord */
export interface FindLicensesByChatIdQuery {
  /** The number of objects on a page. A page has fewer only if it is the last one. */
  limit?: number | undefined;
  /** The id of the last object of the page before. */
  after?: number | undefined;
  /** Only licenses with this status. `DELETED` ones are in no list without it. */
  licenseStatus?: LicenseStatus | undefined;
  /** Only licenses of this type. */
  licenseType?: LicenseType | undefined;
  /** Only objects of this product. */
  productId?: number | undefined;
  /** Text to find, such as `guard`, without regard to the case of A to Z. */
  q?: string | undefined;
  /** Only objects with exactly this text under this name in `metadata`: the name, a colon and the text. */
  metadata?: string | undefined;
  /** Only licenses for which this entitlement counts: its name, or its name, a colon and its value. */
  entitlement?: string | undefined;
  /** Only licenses that expire at this time or later: ISO 8601, or a date alone. */
  expiresFrom?: string | undefined;
  /** Only licenses that expire at this time or earlier. */
  expiresTo?: string | undefined;
  /** `true`: only licenses without a validation. `false`: only licenses with one. */
  unused?: boolean | undefined;
  /** Only licenses that were used before, and not within this number of days. */
  dormantDays?: number | undefined;
  /** `true`: only licenses without a free slot for an address or a hardware ID. `false`: only the others. */
  full?: boolean | undefined;
  /** `true`: only licenses with a slot that is idle, which a new value may take. `false`: only the others. */
  idleSlots?: boolean | undefined;
  /** Only licenses whose programs asked from this address or CIDR range, as far as the history goes back. */
  ip?: string | undefined;
  /** The order; `-` is descending. `expiryDate` lists only licenses that expire, and is the default with `expiresFrom` or `expiresTo`. Otherwise `id` is the default. */
  sort?: 'id' | '-id' | 'expiryDate' | '-expiryDate' | undefined;
  /** Without `X-Total-Count` if false: a page of a large list then takes less time. */
  total?: boolean | undefined;
}

/** Filters: List blacklist entries */
export interface ListBlacklistEntriesQuery {
  /** The number of objects on a page. A page has fewer only if it is the last one. */
  limit?: number | undefined;
  /** The id of the last object of the page before. */
  after?: number | undefined;
  /** Only entries of this type. */
  licenseDataType?: LicenseDataType | undefined;
  /** Only objects of this product. */
  productId?: number | undefined;
  /** Text to find, such as `guard`, without regard to the case of A to Z. */
  q?: string | undefined;
}

/** Filters: List license requests */
export interface ListRequestsQuery {
  /** The number of records on a page. Records with the same id stay on one page, which can make it shorter or longer: `Link` shows whether more follow. */
  limit?: number | undefined;
  /** The id of the last object of the page before. */
  after?: number | undefined;
  /** A license key, as in a validation. */
  licenseKey?: string | undefined;
  /** Only objects of this product. */
  productId?: number | undefined;
  /** Only requests from this address, such as `192.0.2.10`. */
  ip?: string | undefined;
  /** Only requests with this hardware ID. */
  hwid?: string | undefined;
  /** `true`: only valid requests. `false`: only the others. */
  valid?: boolean | undefined;
  /** Only from this time on: ISO 8601, such as `2026-11-20T18:00:00Z`, or a date alone. */
  from?: string | undefined;
  /** Only up to this time, inclusive: ISO 8601, or a date alone, which is its first millisecond. */
  to?: string | undefined;
}

/** Filters: Get the statistics of a period */
export interface GetStatisticsQuery {
  /** Only from this time on: ISO 8601, such as `2026-11-20T18:00:00Z`, or a date alone. */
  from?: string | undefined;
  /** Only up to this time, inclusive: ISO 8601, or a date alone, which is its first millisecond. */
  to?: string | undefined;
  /** The length of a step. */
  step?: 'hour' | 'day' | undefined;
  /** Only objects of this product. */
  productId?: number | undefined;
}

/** Filters: List customers */
export interface ListCustomersQuery {
  /** The number of objects on a page. A page has fewer only if it is the last one. */
  limit?: number | undefined;
  /** The id of the last object of the page before. */
  after?: number | undefined;
  /** Text to find, such as `guard`, without regard to the case of A to Z. */
  q?: string | undefined;
  /** Only objects with exactly this text under this name in `metadata`: the name, a colon and the text. */
  metadata?: string | undefined;
  /** With the field `licenseCount` in each customer if true. An extension. */
  licenseCount?: boolean | undefined;
}

/** Filters: List tokens */
export interface ListTokensQuery {
  /** The number of objects on a page. A page has fewer only if it is the last one. */
  limit?: number | undefined;
  /** The id of the last object of the page before. */
  after?: number | undefined;
}

/** Filters: List events */
export interface ListEventsQuery {
  /** The number of objects on a page. A page has fewer only if it is the last one. */
  limit?: number | undefined;
  /** The id of the last object of the page before. */
  after?: number | undefined;
  /** Only events of this type. */
  type?: EventType | undefined;
  /** Only events of this kind of object. */
  resourceType?: EventResource | undefined;
  /** Only events of the object with this id; needs `resourceType` to be found fast. */
  resourceId?: number | undefined;
  /** Only changes that came with this token. */
  tokenId?: number | undefined;
  /** Only events of the service, of customers, or of programs that took a license over. */
  actor?: 'service' | 'customer' | 'program' | undefined;
  /** Only from this time on: ISO 8601, such as `2026-11-20T18:00:00Z`, or a date alone. */
  from?: string | undefined;
  /** Only up to this time, inclusive: ISO 8601, or a date alone, which is its first millisecond. */
  to?: string | undefined;
}

/** Filters: List webhooks */
export interface ListWebhooksQuery {
  /** The number of objects on a page. A page has fewer only if it is the last one. */
  limit?: number | undefined;
  /** The id of the last object of the page before. */
  after?: number | undefined;
}

/** Filters: List the deliveries to a webhook */
export interface ListDeliveriesQuery {
  /** The number of deliveries on a page. */
  limit?: number | undefined;
  /** The id of the last delivery of the page before. */
  after?: number | undefined;
  /** Only deliveries in this state. */
  state?: DeliveryState | undefined;
}

/** Filters: List markets */
export interface ListMarketsQuery {
  /** The number of objects on a page. A page has fewer only if it is the last one. */
  limit?: number | undefined;
  /** The id of the last object of the page before. */
  after?: number | undefined;
}

/** Filters: List what arrived from a market */
export interface ListMarketDeliveriesQuery {
  /** The number of requests on a page. */
  limit?: number | undefined;
  /** The id of the last request of the page before. */
  after?: number | undefined;
}

/** Filters: List purchases */
export interface ListPurchasesQuery {
  /** The number of objects on a page. A page has fewer only if it is the last one. */
  limit?: number | undefined;
  /** The id of the last object of the page before. */
  after?: number | undefined;
  /** Only purchases at this market. */
  marketId?: number | undefined;
  /** Only the purchases of this license. */
  licenseId?: number | undefined;
  /** Only purchases whose license is of this customer. */
  customerId?: number | undefined;
  /** Only purchases in this state. */
  state?: PurchaseState | undefined;
  /** Whether a person decided that they need no license. */
  isIgnored?: boolean | undefined;
  /** Text to find in order, reference, buyer, e-mail or item, without regard to the case of A to Z; or the whole id of a payment or invoice of the order. */
  q?: string | undefined;
  /** The order of the list: `-id` has the newest purchase first. Default: `id`. */
  sort?: 'id' | '-id' | undefined;
}

/** Filters: Get the sales of a period */
export interface GetPurchaseStatisticsQuery {
  /** Only from this time on: ISO 8601, such as `2026-11-20T18:00:00Z`, or a date alone. */
  from?: string | undefined;
  /** Only up to this time, inclusive: ISO 8601, or a date alone, which is its first millisecond. */
  to?: string | undefined;
}

/** Filters: List the mails to customers */
export interface ListMailsQuery {
  /** The number of objects on a page. A page has fewer only if it is the last one. */
  limit?: number | undefined;
  /** The id of the last object of the page before. */
  after?: number | undefined;
  /** Only mails of this kind. */
  kind?: MailKind | undefined;
  /** Only mails in this state. */
  state?: MailState | undefined;
  /** Only mails of this license. */
  licenseId?: number | undefined;
  /** Only mails of this customer. */
  customerId?: number | undefined;
}

/** The query, the body and the response of each operation. */
export interface Operations {
  /** Validate a license */
  'POST /api/v1/validate': {
    query: undefined;
    body: ValidationRequest;
    response: ValidResponse;
  };
  /** Validate a license, with a token */
  'POST /api/v2/validate': {
    query: undefined;
    body: ValidationRequest;
    response: ValidResponse;
  };
  /** List the public keys of signed responses */
  'GET /.well-known/jwks.json': {
    query: undefined;
    body: undefined;
    response: KeySet;
  };
  /** Get the metrics for Prometheus */
  'GET /metrics': {
    query: undefined;
    body: undefined;
    response: undefined;
  };
  /** Check that the service runs */
  'GET /api/v2/healthy': {
    query: undefined;
    body: undefined;
    response: undefined;
  };
  /** Check that a token is live */
  'GET /api/v2/ping': {
    query: undefined;
    body: undefined;
    response: undefined;
  };
  /** List the labels of platforms */
  'GET /api/v2/platforms': {
    query: undefined;
    body: undefined;
    response: PlatformLabel[];
  };
  /** Get the address of the service */
  'GET /api/v2/address': {
    query: undefined;
    body: undefined;
    response: ServiceAddress;
  };
  /** Count the installations that use each signing key */
  'GET /api/v2/signing-keys': {
    query: undefined;
    body: undefined;
    response: SigningKeyUse[];
  };
  /** List products */
  'GET /api/v2/products': {
    query: ListProductsQuery;
    body: undefined;
    response: Product[];
  };
  /** Create a product */
  'POST /api/v2/products': {
    query: undefined;
    body: ProductCreate;
    response: Product;
  };
  /** Get a product by its id */
  'GET /api/v2/products/{id}': {
    query: undefined;
    body: undefined;
    response: Product;
  };
  /** Change a product */
  'PUT /api/v2/products/{id}': {
    query: undefined;
    body: ProductUpdate;
    response: Product;
  };
  /** Delete a product */
  'DELETE /api/v2/products/{id}': {
    query: DeleteProductQuery;
    body: undefined;
    response: undefined;
  };
  /** List licenses */
  'GET /api/v2/licenses': {
    query: ListLicensesQuery;
    body: undefined;
    response: License[];
  };
  /** Create a license */
  'POST /api/v2/licenses': {
    query: undefined;
    body: LicenseCreate;
    response: License;
  };
  /** Create up to 500 licenses at once */
  'POST /api/v2/licenses/batch': {
    query: undefined;
    body: LicenseBatch;
    response: License[];
  };
  /** Get a license by its id */
  'GET /api/v2/licenses/{id}': {
    query: undefined;
    body: undefined;
    response: License;
  };
  /** Change a license */
  'PUT /api/v2/licenses/{id}': {
    query: undefined;
    body: LicenseUpdate;
    response: License;
  };
  /** Delete a license */
  'DELETE /api/v2/licenses/{id}': {
    query: undefined;
    body: undefined;
    response: undefined;
  };
  /** List the installations of a license */
  'GET /api/v2/licenses/{id}/installations': {
    query: ListInstallationsQuery;
    body: undefined;
    response: Installation[];
  };
  /** List the slots of a license */
  'GET /api/v2/licenses/{id}/slots': {
    query: undefined;
    body: undefined;
    response: Slot[];
  };
  /** Give a license a new key */
  'POST /api/v2/licenses/{id}/rotate': {
    query: undefined;
    body: LicenseRotate;
    response: License;
  };
  /** Give a license a new owner */
  'POST /api/v2/licenses/{id}/transfer': {
    query: undefined;
    body: LicenseTransfer;
    response: License;
  };
  /** Send the key to the owner by e-mail */
  'POST /api/v2/licenses/{id}/send-key': {
    query: undefined;
    body: MailAction;
    response: Mail;
  };
  /** Get a license by its key */
  'GET /api/v2/licenses/by-license-key/{licenseKey}': {
    query: undefined;
    body: undefined;
    response: License;
  };
  /** List licenses of the customer with an e-mail */
  'GET /api/v2/licenses/by-customer-email/{email}': {
    query: FindLicensesByCustomerEmailQuery;
    body: undefined;
    response: License[];
  };
  /** List licenses of an owner on a platform */
  'GET /api/v2/licenses/by-platform/{platform}/{platformId}': {
    query: FindLicensesByPlatformQuery;
    body: undefined;
    response: License[];
  };
  /** List licenses of a customer */
  'GET /api/v2/licenses/by-customer-id/{customerId}': {
    query: FindLicensesByCustomerIdQuery;
    body: undefined;
    response: License[];
  };
  /** List licenses for a product */
  'GET /api/v2/licenses/by-product-id/{productId}': {
    query: FindLicensesByProductIdQuery;
    body: undefined;
    response: License[];
  };
  /** List licenses of an owner at Discord */
  'GET /api/v2/licenses/by-chat-id/{chatId}': {
    query: FindLicensesByChatIdQuery;
    body: undefined;
    response: License[];
  };
  /** List blacklist entries */
  'GET /api/v2/blacklists': {
    query: ListBlacklistEntriesQuery;
    body: undefined;
    response: BlacklistEntry[];
  };
  /** Create a blacklist entry */
  'POST /api/v2/blacklists': {
    query: undefined;
    body: BlacklistEntryCreate;
    response: BlacklistEntry;
  };
  /** Get a blacklist entry by its id */
  'GET /api/v2/blacklists/{id}': {
    query: undefined;
    body: undefined;
    response: BlacklistEntry;
  };
  /** Change a blacklist entry */
  'PUT /api/v2/blacklists/{id}': {
    query: undefined;
    body: BlacklistEntryUpdate;
    response: BlacklistEntry;
  };
  /** Delete a blacklist entry */
  'DELETE /api/v2/blacklists/{id}': {
    query: undefined;
    body: undefined;
    response: undefined;
  };
  /** List license requests */
  'GET /api/v2/requests': {
    query: ListRequestsQuery;
    body: undefined;
    response: LicenseRequest[];
  };
  /** Get a license request by its id */
  'GET /api/v2/requests/{id}': {
    query: undefined;
    body: undefined;
    response: LicenseRequest;
  };
  /** Get the statistics of a period */
  'GET /api/v2/statistics': {
    query: GetStatisticsQuery;
    body: undefined;
    response: Statistics;
  };
  /** List customers */
  'GET /api/v2/customers': {
    query: ListCustomersQuery;
    body: undefined;
    response: ListedCustomer[];
  };
  /** Create a customer */
  'POST /api/v2/customers': {
    query: undefined;
    body: CustomerCreate;
    response: Customer;
  };
  /** Get a customer by its id */
  'GET /api/v2/customers/{id}': {
    query: undefined;
    body: undefined;
    response: Customer;
  };
  /** Change a customer */
  'PUT /api/v2/customers/{id}': {
    query: undefined;
    body: CustomerUpdate;
    response: Customer;
  };
  /** Forget a customer */
  'DELETE /api/v2/customers/{id}': {
    query: undefined;
    body: undefined;
    response: undefined;
  };
  /** Export all that is stored about a person */
  'GET /api/v2/customers/{id}/export': {
    query: undefined;
    body: undefined;
    response: CustomerExport;
  };
  /** List tokens */
  'GET /api/v2/tokens': {
    query: ListTokensQuery;
    body: undefined;
    response: Token[];
  };
  /** Create a token */
  'POST /api/v2/tokens': {
    query: undefined;
    body: TokenCreate;
    response: CreatedToken;
  };
  /** Get the token of the request */
  'GET /api/v2/tokens/self': {
    query: undefined;
    body: undefined;
    response: OwnToken;
  };
  /** Get a token by its id */
  'GET /api/v2/tokens/{id}': {
    query: undefined;
    body: undefined;
    response: Token;
  };
  /** Change a token */
  'PUT /api/v2/tokens/{id}': {
    query: undefined;
    body: TokenUpdate;
    response: Token;
  };
  /** Delete a token */
  'DELETE /api/v2/tokens/{id}': {
    query: undefined;
    body: undefined;
    response: undefined;
  };
  /** List events */
  'GET /api/v2/events': {
    query: ListEventsQuery;
    body: undefined;
    response: Event[];
  };
  /** List webhooks */
  'GET /api/v2/webhooks': {
    query: ListWebhooksQuery;
    body: undefined;
    response: Webhook[];
  };
  /** Create a webhook */
  'POST /api/v2/webhooks': {
    query: undefined;
    body: WebhookCreate;
    response: WebhookWithSecret;
  };
  /** Get a webhook by its id */
  'GET /api/v2/webhooks/{id}': {
    query: undefined;
    body: undefined;
    response: Webhook;
  };
  /** Change a webhook */
  'PUT /api/v2/webhooks/{id}': {
    query: undefined;
    body: WebhookUpdate;
    response: Webhook;
  };
  /** Delete a webhook */
  'DELETE /api/v2/webhooks/{id}': {
    query: undefined;
    body: undefined;
    response: undefined;
  };
  /** Give a webhook a new secret */
  'POST /api/v2/webhooks/{id}/rotate-secret': {
    query: undefined;
    body: WebhookAction;
    response: WebhookWithSecret;
  };
  /** Send a test to a webhook */
  'POST /api/v2/webhooks/{id}/test': {
    query: undefined;
    body: WebhookAction;
    response: Delivery;
  };
  /** List the deliveries to a webhook */
  'GET /api/v2/webhooks/{id}/deliveries': {
    query: ListDeliveriesQuery;
    body: undefined;
    response: Delivery[];
  };
  /** Send a delivery again */
  'POST /api/v2/webhooks/{id}/deliveries/{deliveryId}/resend': {
    query: undefined;
    body: WebhookAction;
    response: Delivery;
  };
  /** List markets */
  'GET /api/v2/markets': {
    query: ListMarketsQuery;
    body: undefined;
    response: Market[];
  };
  /** Create a market */
  'POST /api/v2/markets': {
    query: undefined;
    body: MarketCreate;
    response: Market;
  };
  /** Get a market by its id */
  'GET /api/v2/markets/{id}': {
    query: undefined;
    body: undefined;
    response: Market;
  };
  /** Change a market */
  'PUT /api/v2/markets/{id}': {
    query: undefined;
    body: MarketUpdate;
    response: Market;
  };
  /** Delete a market */
  'DELETE /api/v2/markets/{id}': {
    query: undefined;
    body: undefined;
    response: undefined;
  };
  /** List what arrived from a market */
  'GET /api/v2/markets/{id}/deliveries': {
    query: ListMarketDeliveriesQuery;
    body: undefined;
    response: MarketDelivery[];
  };
  /** List purchases */
  'GET /api/v2/purchases': {
    query: ListPurchasesQuery;
    body: undefined;
    response: Purchase[];
  };
  /** Create a purchase */
  'POST /api/v2/purchases': {
    query: undefined;
    body: PurchaseCreate;
    response: Purchase;
  };
  /** Get the sales of a period */
  'GET /api/v2/purchases/statistics': {
    query: GetPurchaseStatisticsQuery;
    body: undefined;
    response: PurchaseStatistics;
  };
  /** Get a purchase by its id */
  'GET /api/v2/purchases/{id}': {
    query: undefined;
    body: undefined;
    response: Purchase;
  };
  /** Ignore a purchase that waits for a product */
  'POST /api/v2/purchases/{id}/ignore': {
    query: undefined;
    body: PurchaseIgnore;
    response: Purchase;
  };
  /** Give a purchase its license */
  'POST /api/v2/purchases/{id}/grant': {
    query: undefined;
    body: PurchaseGrant;
    response: Purchase;
  };
  /** Make a link to the customer's page */
  'POST /api/v2/portal-links': {
    query: undefined;
    body: PortalLinkCreate;
    response: PortalLink;
  };
  /** Get the settings of mails to customers */
  'GET /api/v2/settings/mail': {
    query: undefined;
    body: undefined;
    response: MailSettings;
  };
  /** Change the settings of mails to customers */
  'PUT /api/v2/settings/mail': {
    query: undefined;
    body: MailSettingsUpdate;
    response: MailSettings;
  };
  /** See a mail with made-up values */
  'POST /api/v2/settings/mail/preview': {
    query: undefined;
    body: MailPreviewRequest;
    response: MailPreview;
  };
  /** Get the settings of the customer's page */
  'GET /api/v2/settings/portal': {
    query: undefined;
    body: undefined;
    response: PortalSettings;
  };
  /** Change the settings of the customer's page */
  'PUT /api/v2/settings/portal': {
    query: undefined;
    body: PortalSettingsUpdate;
    response: PortalSettings;
  };
  /** Get the settings of the application at Discord */
  'GET /api/v2/settings/discord': {
    query: undefined;
    body: undefined;
    response: DiscordSettings;
  };
  /** Change the settings of the application at Discord */
  'PUT /api/v2/settings/discord': {
    query: undefined;
    body: DiscordSettingsUpdate;
    response: DiscordSettings;
  };
  /** Test whether the bot can give the roles of the products */
  'POST /api/v2/settings/discord/test': {
    query: undefined;
    body: DiscordAction;
    response: DiscordTest;
  };
  /** List the mails to customers */
  'GET /api/v2/mails': {
    query: ListMailsQuery;
    body: undefined;
    response: Mail[];
  };
  /** Send a test */
  'POST /api/v2/mails/test': {
    query: undefined;
    body: MailTest;
    response: Mail;
  };
  /** Send a mail again */
  'POST /api/v2/mails/{id}/resend': {
    query: undefined;
    body: MailAction;
    response: Mail;
  };
  /** Import objects of another service */
  'POST /api/v2/import': {
    query: undefined;
    body: ImportRequest;
    response: ImportResponse;
  };
}
