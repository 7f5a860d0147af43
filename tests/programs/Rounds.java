import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/** Deterministic work of four threads on memory outside of the Java heap; prints one line a task. */
public final class Rounds {
    private Rounds() {
    }

    private static byte[] text(int seed, int words) {
        Random random = new Random(seed);
        StringBuilder builder = new StringBuilder();
        TreeMap<String, Integer> counts = new TreeMap<>();
        for (int i = 0; i < words; i++) {
            String word = Integer.toString(random.nextInt(5000), 36);
            counts.merge(word, 1, Integer::sum);
            builder.append(word).append(' ');
        }
        return builder.append(counts).toString().getBytes(java.nio.charset.StandardCharsets.UTF_8);
    }

    private static long deflated(byte[] plain, int level) throws Exception {
        Deflater deflater = new Deflater(level);
        Inflater inflater = new Inflater();
        byte[] packed = new byte[plain.length + 1000];
        byte[] again = new byte[plain.length];
        deflater.setInput(plain);
        deflater.finish();
        int size = deflater.deflate(packed);
        deflater.end();
        inflater.setInput(packed, 0, size);
        int got = inflater.inflate(again);
        inflater.end();
        CRC32 crc = new CRC32();
        crc.update(again, 0, got);
        return crc.getValue() * 31 + size;
    }

    private static String task(int seed) throws Exception {
        Random random = new Random(seed);
        List<ByteBuffer> live = new ArrayList<>();
        CRC32 crc = new CRC32();
        for (int round = 0; round < 300; round++) {
            ByteBuffer buffer = ByteBuffer.allocateDirect(1 + random.nextInt(60000));
            while (buffer.remaining() > 8) {
                buffer.putLong(random.nextLong());
            }
            buffer.flip();
            if (live.size() < 50) {
                live.add(buffer);
            } else {
                crc.update(live.set(random.nextInt(50), buffer));
            }
        }
        long sum = 0;
        for (int round = 0; round < 10; round++) {
            sum = sum * 31 + deflated(text(seed + round, 4000), 1 + round % 9);
        }
        return seed + " " + crc.getValue() + " " + sum;
    }

    public static void main(String[] arguments) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<String>> results = new ArrayList<>();
        for (int seed = 1; seed <= 16; seed++) {
            int own = seed;
            results.add(pool.submit(() -> task(own)));
        }
        for (Future<String> result : results) {
            System.out.println(result.get());
        }
        pool.shutdown();
        if (arguments.length > 0) {
            System.in.read();
        }
    }
}
