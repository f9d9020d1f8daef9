ALTER TABLE `licenses` ADD `deactivated_by` integer;--> statement-breakpoint
ALTER TABLE `market_deliveries` ADD `effect` text;--> statement-breakpoint
ALTER TABLE `market_orders` ADD `parent` text;--> statement-breakpoint
CREATE INDEX `market_orders_parent` ON `market_orders` (`market_id`,`parent`) WHERE "market_orders"."parent" is not null;--> statement-breakpoint
UPDATE `licenses` SET `deactivated_by` = (SELECT `id` FROM `purchases` WHERE `purchases`.`license_id` = `licenses`.`id` AND `purchases`.`deactivated_revision` = `licenses`.`revision`)
WHERE `state` = 'DEACTIVATED' AND `id` IN (SELECT `license_id` FROM `purchases` WHERE `deactivated_revision` IS NOT NULL);
