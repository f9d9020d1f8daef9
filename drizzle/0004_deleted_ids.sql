CREATE TABLE `deleted_ids` (
	`kind` text NOT NULL,
	`id` integer NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`kind`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TRIGGER `products_id_deleted` AFTER DELETE ON `products` BEGIN
	INSERT OR REPLACE INTO `deleted_ids` VALUES ('products', old.`id`, old.`created_at`);
END;
--> statement-breakpoint
CREATE TRIGGER `licenses_id_deleted` AFTER DELETE ON `licenses` BEGIN
	INSERT OR REPLACE INTO `deleted_ids` VALUES ('licenses', old.`id`, old.`created_at`);
END;
--> statement-breakpoint
CREATE TRIGGER `blacklists_id_deleted` AFTER DELETE ON `blacklists` BEGIN
	INSERT OR REPLACE INTO `deleted_ids` VALUES ('blacklists', old.`id`, old.`created_at`);
END;
