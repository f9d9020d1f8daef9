ALTER TABLE `idempotency_keys` ADD `ids` text;--> statement-breakpoint
UPDATE `idempotency_keys` SET `created` = NULL WHERE `created` IS NOT NULL;
