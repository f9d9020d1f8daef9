import java.lang.reflect.*;
import java.time.*;
import java.time.format.DateTimeFormatter;
import java.util.Arrays;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.logging.*;

/**
 * Checks the license of a plugin beside its start, and logs the answer for the person who bought it. Java 8 or newer,
 * beside Licet.java, no dependencies; README.md shows a use.
 *
 * <p>It is for servers like Bukkit: Spigot, Paper, Purpur and Folia. BungeeCord and Velocity take Licet alone.
 *
 * <p>Call it in onEnable, and {@code licet.close()} in onDisable. A plugin that is refused while it runs, runs on. If it
 * shall not, write this line before the start:
 * {@code licet.onAnswer = answer -> { if (answer.state == Licet.State.REFUSED) LicetGuard.disable(this); };}
 */
public final class LicetGuard {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm z", Locale.ROOT);
    private final Host host;
    private final Licet licet;
    private final Ref command;
    private final Consumer<Licet.Answer> features;
    private volatile boolean isRunning;
    private volatile Ref ownExecutor;
    private Object executor;
    private Licet.Answer last;
    private String message = "The license is being checked. Try again in a moment.";
    private boolean asksAgain;

    /**
     * Disables the plugin if it may not run.
     *
     * @throws IllegalArgumentException for a server of another kind, and where {@link Licet#check()} throws it
     */
    public static void start(Object plugin, Licet licet) {
        new LicetGuard(plugin, licet, null, answer -> {}).check();
    }

    /**
     * Switches the features on, once and on the main thread, when the plugin may run. {@code /NAME license} shows the
     * license, and {@code /NAME license move} moves it to this server. The plugin stays enabled after a refusal, because a
     * disabled one gets no commands. Other arguments go to the command's own executor once the features are on.
     *
     * @param command a command of plugin.yml, with a permission of the server's owner; null for none: then a plugin that
     *     may not run is disabled
     * @throws IllegalArgumentException for a command that plugin.yml does not have, for a server of another kind, and
     *     where {@link Licet#check()} throws it
     */
    public static void start(Object plugin, Licet licet, String command, Consumer<Licet.Answer> features) {
        new LicetGuard(plugin, licet, command, features).check();
    }

    /** Disables the plugin on the main thread, whichever thread calls. */
    public static void disable(Object plugin) {
        Host host = new Host(plugin);
        host.run(host::disable);
    }

    private LicetGuard(Object plugin, Licet licet, String command, Consumer<Licet.Answer> features) {
        this.host = new Host(plugin);
        this.licet = licet;
        this.command = command == null ? null : host.plugin.call("getCommand", command);
        this.features = features;
        if (command == null) return;
        if (this.command.object == null) {
            throw new IllegalArgumentException("plugin.yml has no command '" + command + "'; add it under commands:");
        }
        Class<?> type = this.command.call("getExecutor").type;
        executor = Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, this::execute);
        takeCommand();
    }

    /** Stands before the own executor: the plugin, unless it has set another one. */
    private void takeCommand() {
        Ref current = command.call("getExecutor");
        if (current.object == executor) return;
        ownExecutor = current;
        command.call("setExecutor", executor);
    }

    /** An executor that completes its words does so no longer behind another one. */
    private void completeWords() {
        Ref completer = command.call("getTabCompleter");
        if (completer.object == null && completer.type.isInstance(ownExecutor.object)) {
            command.call("setTabCompleter", ownExecutor.object);
        }
    }

    private void check() {
        Consumer<Licet.Answer> own = licet.onAnswer;
        licet.onAnswer = answer -> {
            if (!host.isEnabled()) {
                licet.close();
                return;
            }
            take(answer, null, text -> {});
            own.accept(answer);
        };
        licet.check().whenComplete((answer, problem) -> {
            synchronized (this) {
                // A later answer, or that of a move, can be faster.
                if (last == null) take(answer, problem, text -> {});
            }
        });
    }

    private synchronized void move(Ref sender) {
        asksAgain = false;
        sender.call("sendMessage", "Moving the license to this server ...");
        licet.move().whenComplete((answer, problem) ->
            take(answer, problem, text -> sender.call("sendMessage", text)));
    }

    private void take(Licet.Answer answer, Throwable problem, Consumer<String> person) {
        if (!host.isEnabled()) return;
        if (problem == null) note(answer);
        else fail(problem);
        host.run(() -> {
            person.accept(problem == null ? answer.message : problem.toString());
            if (isRunning) return;
            isRunning = problem == null && answer.mayRun();
            try {
                if (isRunning) features.accept(answer);
                else if (command == null) host.disable();
            } finally {
                // The features may have set an executor, also before a fault of theirs.
                if (command != null) takeCommand();
            }
            if (command != null && isRunning) completeWords();
        });
    }

    /** Keeps the answer for the command, and logs it if its state is new. */
    private synchronized void note(Licet.Answer answer) {
        boolean isNew = last == null || last.state != answer.state;
        last = answer;
        message = answer.message;
        // A running plugin asks on while the service is away.
        asksAgain = answer.mayRun() || asksAgain && answer.state == Licet.State.UNREACHABLE;
        if (isNew) host.logger().log(answer.mayRun() ? Level.INFO : Level.WARNING, answer.message);
    }

    private synchronized void fail(Throwable problem) {
        message = problem.toString();
        host.logger().log(Level.SEVERE, "The license could not be checked", problem);
    }

    /** Takes the calls of the command's executor. */
    private Object execute(Object proxy, Method method, Object[] given) throws ReflectiveOperationException {
        if (method.getDeclaringClass() == Object.class) {
            return method.getName().equals("equals") ? proxy == given[0] : method.invoke(this, given);
        }
        Ref sender = new Ref(method.getParameterTypes()[0], given[0]);
        String arguments = String.join(" ", (String[]) given[3]);
        if (arguments.equalsIgnoreCase("license move")) move(sender);
        else if (arguments.equalsIgnoreCase("license")) show(sender, "/" + given[2] + " license move");
        else if (isRunning) return ownExecutor.call("onCommand", given).object;
        else sender.call("sendMessage", message());
        return true;
    }

    private synchronized void show(Ref sender, String moving) {
        sender.call("sendMessage", message());
        if (last == null) return;
        sender.call("sendMessage", "State: " + last.state.name().toLowerCase(Locale.ROOT));
        ZonedDateTime time = Instant.ofEpochSecond(last.checkAfter).atZone(ZoneId.systemDefault());
        boolean isPlanned = last.state == Licet.State.VALID && time.toInstant().isAfter(Instant.now());
        String next = isPlanned ? "at " + TIME.format(time) : "within an hour";
        sender.call("sendMessage", "Asks again "
            + (asksAgain ? next : "at the next start of the server, or for " + moving) + ".");
    }

    private synchronized String message() {
        return message;
    }

    /** The server of a plugin. */
    private static final class Host {
        private static final String PLUGIN = "org.bukkit.plugin.java.JavaPlugin";
        final Ref plugin;
        private final Ref manager, scheduler;
        private final boolean isRegional;

        Host(Object plugin) {
            Class<?> type = plugin.getClass();
            while (type != null && !type.getName().equals(PLUGIN)) type = type.getSuperclass();
            if (type == null) {
                throw new IllegalArgumentException(plugin.getClass().getName() + " does not extend " + PLUGIN
                    + ": LicetGuard is for Spigot, Paper, Purpur and Folia only");
            }
            this.plugin = new Ref(type, plugin);
            Ref server = this.plugin.call("getServer");
            manager = server.call("getPluginManager");
            // The scheduler of Bukkit throws on Folia.
            isRegional = server.has("getGlobalRegionScheduler");
            scheduler = server.call(isRegional ? "getGlobalRegionScheduler" : "getScheduler");
            // A method that is missing is named at the start, and not after the answer.
            manager.find("disablePlugin", plugin);
            scheduler.find(isRegional ? "run" : "runTask", plugin, task(() -> {}));
        }

        boolean isEnabled() {
            return (boolean) plugin.call("isEnabled").object;
        }

        Logger logger() {
            return (Logger) plugin.call("getLogger").object;
        }

        void disable() {
            manager.call("disablePlugin", plugin.object);
        }

        /** Runs a task on the main thread, or in the global region. Disabling the plugin ends it. */
        void run(Runnable task) {
            try {
                scheduler.call(isRegional ? "run" : "runTask", plugin.object, task(task));
            } catch (RuntimeException problem) {
                // A server takes no task of a plugin that was disabled a moment ago.
                if (isEnabled()) logger().log(Level.SEVERE, "The server has taken no task of the license", problem);
            }
        }

        private Object task(Runnable task) {
            return isRegional ? (Consumer<Object>) scheduled -> task.run() : task;
        }
    }

    /** An object of the server, and the public type that declares it: the object's own class may not be public. */
    private static final class Ref {
        final Class<?> type;
        final Object object;

        Ref(Class<?> type, Object object) {
            this.type = type;
            this.object = object;
        }

        boolean has(String name) {
            return Arrays.stream(type.getMethods()).anyMatch(method -> method.getName().equals(name));
        }

        Method find(String name, Object... given) {
            for (Method method : type.getMethods()) {
                Class<?>[] types = method.getParameterTypes();
                boolean fits = method.getName().equals(name) && types.length == given.length;
                for (int at = 0; fits && at < given.length; at++) fits = types[at].isInstance(given[at]);
                if (fits) return method;
            }
            throw new IllegalArgumentException(type.getName() + " has no method " + name + " as Bukkit has it");
        }

        Ref call(String name, Object... given) {
            Method method = find(name, given);
            try {
                return new Ref(method.getReturnType(), method.invoke(object, given));
            } catch (InvocationTargetException thrown) {
                if (thrown.getCause() instanceof RuntimeException) throw (RuntimeException) thrown.getCause();
                if (thrown.getCause() instanceof Error) throw (Error) thrown.getCause();
                throw new IllegalStateException(thrown.getCause());
            } catch (IllegalAccessException hidden) {
                throw new IllegalArgumentException(method + " cannot be called", hidden);
            }
        }
    }
}
