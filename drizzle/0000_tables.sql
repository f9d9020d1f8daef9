CREATE TABLE `products` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`name` text NOT NULL,
	`description` text DEFAULT '' NOT NULL,
	`product_type` text NOT NULL,
	`product_type_other` text DEFAULT '' NOT NULL,
	`default_max_ips` integer NOT NULL,
	`default_max_hwids` integer NOT NULL,
	`role_id` text,
	`purchase_role_id` text,
	`url` text,
	`image_url` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`revision` integer DEFAULT 1 NOT NULL,
	`offline_days` integer DEFAULT 0 NOT NULL,
	CONSTRAINT "products_offline_days" CHECK("products"."offline_days" between 0 and 90),
	CONSTRAINT "products_product_type" CHECK("products"."product_type" in ('GAME_JAVA_PLUGIN', 'GAME_JAVA_MOD', 'GAME_BEDROCK_PLUGIN', 'GAME_BEDROCK_MOD', 'GAME_SERVER_SETUP', 'WEB_APPLICATION', 'DESKTOP_APPLICATION', 'MOBILE_APPLICATION', 'OTHER')),
	CONSTRAINT "products_default_max_ips" CHECK("products"."default_max_ips" >= -1),
	CONSTRAINT "products_default_max_hwids" CHECK("products"."default_max_hwids" >= -1)
);
--> statement-breakpoint
CREATE INDEX `products_offline_days` ON `products` (`offline_days`) WHERE "products"."offline_days" > 0;
--> statement-breakpoint
CREATE TABLE `customers` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`first_name` text,
	`last_name` text,
	`username` text,
	`email` text,
	`email_normalized` text,
	`phone_number` text,
	`profile_picture_url` text,
	`role` text,
	`status` text,
	`chat_id` text,
	`chat_username` text,
	`chat_avatar_url` text,
	`platform_a_id` text,
	`platform_a_username` text,
	`platform_b_id` text,
	`platform_b_username` text,
	`platform_c_id` text,
	`platform_c_username` text,
	`market_a_id` text,
	`market_a_username` text,
	`market_b_id` text,
	`market_b_username` text,
	`other_account_id` text,
	`created_at` integer NOT NULL,
	`revision` integer DEFAULT 1 NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `customers_email` ON `customers` (`email_normalized`) WHERE "customers"."email_normalized" is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX `customers_chat` ON `customers` (`chat_id`) WHERE "customers"."chat_id" is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX `customers_platform_a` ON `customers` (`platform_a_id`) WHERE "customers"."platform_a_id" is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX `customers_platform_b` ON `customers` (`platform_b_id`) WHERE "customers"."platform_b_id" is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX `customers_platform_c` ON `customers` (`platform_c_id`) WHERE "customers"."platform_c_id" is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX `customers_market_a` ON `customers` (`market_a_id`) WHERE "customers"."market_a_id" is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX `customers_market_b` ON `customers` (`market_b_id`) WHERE "customers"."market_b_id" is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX `customers_other` ON `customers` (`other_account_id`) WHERE "customers"."other_account_id" is not null;
--> statement-breakpoint
CREATE TABLE `licenses` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`license_key` text NOT NULL,
	`license_key_normalized` text NOT NULL,
	`product_id` integer NOT NULL,
	`license_type` text NOT NULL,
	`license_platform` text,
	`license_platform_other` text DEFAULT '' NOT NULL,
	`owner_platform_id` text DEFAULT '' NOT NULL,
	`owner_chat_id` text DEFAULT '' NOT NULL,
	`owner_chat_username` text DEFAULT '' NOT NULL,
	`expires_at` integer,
	`max_ips` integer NOT NULL,
	`max_hwids` integer NOT NULL,
	`past_requests` integer DEFAULT 0 NOT NULL,
	`state` text DEFAULT 'ACTIVE' NOT NULL,
	`notes` text DEFAULT '' NOT NULL,
	`customer_id` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`revision` integer NOT NULL,
	FOREIGN KEY (`product_id`) REFERENCES `products`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`customer_id`) REFERENCES `customers`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "licenses_license_type" CHECK("licenses"."license_type" in ('TEMPORARY', 'PERMANENT')),
	CONSTRAINT "licenses_license_platform" CHECK("licenses"."license_platform" in ('PLATFORM_A', 'PLATFORM_B', 'PLATFORM_C', 'MARKET_A', 'MARKET_B', 'CHAT', 'OTHER')),
	CONSTRAINT "licenses_state" CHECK("licenses"."state" in ('ACTIVE', 'DEACTIVATED', 'DELETED')),
	CONSTRAINT "licenses_expiry" CHECK(("licenses"."license_type" = 'TEMPORARY') = ("licenses"."expires_at" is not null)),
	CONSTRAINT "licenses_max_ips" CHECK("licenses"."max_ips" >= -1),
	CONSTRAINT "licenses_max_hwids" CHECK("licenses"."max_hwids" >= -1),
	CONSTRAINT "licenses_past_requests" CHECK("licenses"."past_requests" >= 0)
);
--> statement-breakpoint
CREATE UNIQUE INDEX `licenses_key` ON `licenses` (`license_key_normalized`);
--> statement-breakpoint
CREATE INDEX `licenses_product` ON `licenses` (`product_id`,`id`,`state`,`expires_at`);
--> statement-breakpoint
CREATE INDEX `licenses_customer` ON `licenses` (`customer_id`);
--> statement-breakpoint
CREATE INDEX `licenses_chat` ON `licenses` (`owner_chat_id`);
--> statement-breakpoint
CREATE INDEX `licenses_expiry` ON `licenses` (`expires_at`) WHERE "licenses"."expires_at" is not null;
--> statement-breakpoint
CREATE INDEX `licenses_platform` ON `licenses` (`owner_platform_id`,`license_platform`);
--> statement-breakpoint
CREATE TABLE `bindings` (
	`license_id` integer NOT NULL,
	`type` text NOT NULL,
	`value` text NOT NULL,
	`position` integer NOT NULL,
	PRIMARY KEY(`license_id`, `type`, `value`),
	FOREIGN KEY (`license_id`) REFERENCES `licenses`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "bindings_type" CHECK("bindings"."type" in ('IP', 'HWID'))
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `blacklists` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`license_data_type` text NOT NULL,
	`data` text NOT NULL,
	`product_id` integer,
	`reason` text DEFAULT '' NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`revision` integer DEFAULT 1 NOT NULL,
	FOREIGN KEY (`product_id`) REFERENCES `products`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "blacklists_license_data_type" CHECK("blacklists"."license_data_type" in ('IP', 'HWID'))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `blacklists_entry` ON `blacklists` (`license_data_type`,`data`,`product_id`);
--> statement-breakpoint
CREATE UNIQUE INDEX `blacklists_entry_for_all` ON `blacklists` (`license_data_type`,`data`) WHERE "blacklists"."product_id" is null;
--> statement-breakpoint
CREATE INDEX `blacklists_product` ON `blacklists` (`product_id`);
--> statement-breakpoint
CREATE TABLE `tokens` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`name` text NOT NULL,
	`token_hash` text NOT NULL,
	`intents` text NOT NULL,
	`expires_at` integer,
	`last_used_at` integer,
	`revoked_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`revision` integer DEFAULT 1 NOT NULL,
	CONSTRAINT "tokens_intents" CHECK(json_valid("tokens"."intents"))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `tokens_hash` ON `tokens` (`token_hash`);
--> statement-breakpoint
CREATE TABLE `installations` (
	`id` integer PRIMARY KEY NOT NULL,
	`license_key_normalized` text NOT NULL,
	`fingerprint` text NOT NULL,
	`license_id` integer NOT NULL,
	`license_key` text NOT NULL,
	`product_id` integer,
	`product_version` text,
	`ip` text,
	`hwid` text,
	`mac_address` text,
	`operating_system` text,
	`operating_system_version` text,
	`operating_system_architecture` text,
	`java_version` text,
	`first_seen_at` integer NOT NULL,
	`last_seen_at` integer NOT NULL,
	`requests` integer DEFAULT 0 NOT NULL,
	`aggregated_bucket` integer NOT NULL,
	`kid` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `installations_identity` ON `installations` (`license_key_normalized`,`fingerprint`);
--> statement-breakpoint
CREATE INDEX `installations_ip` ON `installations` (`ip`) WHERE "installations"."ip" is not null;
--> statement-breakpoint
CREATE INDEX `installations_hwid` ON `installations` (`hwid`) WHERE "installations"."hwid" is not null;
--> statement-breakpoint
CREATE INDEX `installations_first_seen` ON `installations` (`license_id`,`first_seen_at`);
--> statement-breakpoint
CREATE TABLE `buckets` (
	`bucket` integer PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE `requests` (
	`bucket` integer NOT NULL,
	`product_id` integer NOT NULL,
	`installation_id` integer NOT NULL,
	`id` integer NOT NULL,
	`nonce` integer NOT NULL,
	`type` integer NOT NULL,
	`outcome` integer NOT NULL,
	`details` text,
	PRIMARY KEY(`bucket`, `product_id`, `installation_id`, `id`, `nonce`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `rollups` (
	`bucket` integer NOT NULL,
	`product_id` integer NOT NULL,
	`outcome` integer NOT NULL,
	`requests` integer NOT NULL,
	PRIMARY KEY(`product_id`, `bucket`, `outcome`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `counters` (
	`name` text PRIMARY KEY NOT NULL,
	`value` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `deleted_ids` (
	`type` text NOT NULL,
	`id` integer NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`type`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `idempotency_keys` (
	`id` integer PRIMARY KEY NOT NULL,
	`token_id` integer NOT NULL,
	`key_hash` text NOT NULL,
	`request_hash` text NOT NULL,
	`created_at` integer NOT NULL,
	`customer_id` integer,
	`created` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `idempotency_keys_key` ON `idempotency_keys` (`token_id`,`key_hash`);
--> statement-breakpoint
CREATE TABLE `daily_counts` (
	`day` integer NOT NULL,
	`product_id` integer NOT NULL,
	`status` text NOT NULL,
	`count` integer NOT NULL,
	PRIMARY KEY(`day`, `product_id`, `status`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `events` (
	`id` integer PRIMARY KEY NOT NULL,
	`type` text NOT NULL,
	`token_id` integer,
	`is_console` integer NOT NULL,
	`ip` text,
	`resource_type` text NOT NULL,
	`resource_id` integer,
	`changes` text
);
--> statement-breakpoint
CREATE INDEX `events_resource` ON `events` (`resource_type`,`resource_id`);
--> statement-breakpoint
CREATE TABLE `sessions` (
	`session_hash` text PRIMARY KEY NOT NULL,
	`token_hash` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_used_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `daily_rollups` (
	`bucket` integer NOT NULL,
	`product_id` integer NOT NULL,
	`outcome` integer NOT NULL,
	`requests` integer NOT NULL,
	PRIMARY KEY(`product_id`, `outcome`, `bucket`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `gaps` (
	`id` integer PRIMARY KEY NOT NULL,
	`requests` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `outbox` (
	`subject` text PRIMARY KEY NOT NULL,
	`revision` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `outbox_revision` ON `outbox` (`revision`);
--> statement-breakpoint
CREATE TABLE `violations` (
	`name` text NOT NULL,
	CONSTRAINT "token_is_live" CHECK("violations"."name" <> 'token_is_live'),
	CONSTRAINT "token_is_allowed" CHECK("violations"."name" <> 'token_is_allowed'),
	CONSTRAINT "object_is_unchanged" CHECK("violations"."name" <> 'object_is_unchanged'),
	CONSTRAINT "product_is_unused" CHECK("violations"."name" <> 'product_is_unused'),
	CONSTRAINT "customer_is_shown" CHECK("violations"."name" <> 'customer_is_shown'),
	CONSTRAINT "customer_exists" CHECK("violations"."name" <> 'customer_exists'),
	CONSTRAINT "customer_has_email" CHECK("violations"."name" <> 'customer_has_email')
);
--> statement-breakpoint
INSERT INTO `outbox` (`subject`, `revision`) VALUES ('policy', 1);
--> statement-breakpoint
INSERT INTO `counters` (`name`, `value`) VALUES ('policy_revision', 1), ('rolled_up_bucket', 0), ('aggregated_bucket', 0);
