ALTER TABLE `market_deliveries` ADD `item` text;--> statement-breakpoint
ALTER TABLE `market_deliveries` ADD `order_id` text;--> statement-breakpoint
ALTER TABLE `purchases` ADD `amount` text;--> statement-breakpoint
ALTER TABLE `purchases` ADD `currency` text;--> statement-breakpoint
ALTER TABLE `purchases` ADD `ignored_at` integer;--> statement-breakpoint
ALTER TABLE `purchases` ADD `revoked_at` integer;--> statement-breakpoint
CREATE INDEX `purchases_created` ON `purchases` (`market_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `purchases_revoked` ON `purchases` (`revoked_at`) WHERE "purchases"."revoked_at" is not null;