//===- PinnedPoolTest.cpp - host memory for offloaded values --------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Device/PinnedPool.h"
#include "Device/Host/HostDevice.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

using namespace ckpt::rt;

namespace {
/// Counts the calls that pin.
struct CountingDevice : HostDevice {
  Result<void *> allocateHost(int64_t bytes, bool pinned) override {
    pinnings += pinned;
    return HostDevice::allocateHost(bytes, pinned);
  }
  int pinnings = 0;
};

using Buffers = std::vector<HostBuffer>;

struct PinnedPoolTest : ::testing::Test {
  static HostBuffer wanted(int64_t bytes, bool pinned = true) {
    HostBuffer buffer;
    buffer.bytes = bytes;
    buffer.wantPinned = pinned;
    return buffer;
  }
  static Buffers takeAll(PinnedPool &pool, Buffers buffers) {
    Status status = pool.acquire(buffers);
    EXPECT_TRUE(status.ok()) << status.message();
    return buffers;
  }
  static HostBuffer take(PinnedPool &pool, int64_t bytes, bool pinned = true) {
    return takeAll(pool, {wanted(bytes, pinned)}).front();
  }
  static void give(PinnedPool &pool, const HostBuffer &buffer) {
    pool.release({buffer});
  }
  static std::vector<void *> addresses(const Buffers &buffers) {
    std::vector<void *> all;
    for (const HostBuffer &buffer : buffers)
      all.push_back(buffer.data);
    return all;
  }
  CountingDevice device;
};
} // namespace

/// Field case M1: eight boundaries of 36 MiB + 1 byte take that and the
/// alignment between them, where rounding to a power of two would take 512 MiB.
TEST_F(PinnedPoolTest, NothingIsRoundedUp) {
  const int64_t bytes = 36 * 1024 * 1024 + 1;
  PinnedPool pool(device);
  Buffers buffers = takeAll(pool, Buffers(8, wanted(bytes)));
  EXPECT_EQ(pool.statistics().pinnedBytes, 8 * bytes + 7 * 255);
  EXPECT_EQ(device.ledger.pinned, pool.statistics().pinnedBytes);
  EXPECT_EQ(pool.statistics().buckets, 1);
  pool.release(buffers);
}

//===----------------------------------------------------------------------===//
// Slabs
//===----------------------------------------------------------------------===//

/// What a step needs is one call, of the pinned sizes alone; the next step
/// finds each buffer where it was.
TEST_F(PinnedPoolTest, AStepIsOneSlab) {
  {
    PinnedPool pool(device);
    Buffers buffers =
        takeAll(pool, {wanted(1000), wanted(48), wanted(70, false),
                       wanted(1000), wanted(512)});
    EXPECT_EQ(device.pinnings, 1);
    // 1000, 48 and 1000 end on the next multiple of 256.
    const int64_t slab = 1024 + 256 + 1024 + 512;
    EXPECT_EQ(device.ledger.pinned, slab);
    EXPECT_EQ(device.ledger.pageable, 70);
    const char *last = nullptr;
    for (const HostBuffer &buffer : buffers) {
      EXPECT_EQ(buffer.pinned, buffer.wantPinned);
      auto *data = static_cast<char *>(buffer.data);
      if (!buffer.pinned)
        continue;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % PinnedPool::alignment, 0u);
      EXPECT_TRUE(!last || data >= last);
      std::memset(data, 1, size_t(buffer.bytes));
      last = data + buffer.bytes;
    }
    PoolStatistics counts = pool.statistics();
    EXPECT_EQ(counts.pinnedBytes, slab);
    EXPECT_EQ(counts.buckets, 3);
    EXPECT_EQ(counts.misses, 5);
    EXPECT_EQ(counts.pageable, 1);
    EXPECT_EQ(counts.fallbacks, 0);

    pool.release(buffers);
    Buffers again = takeAll(pool, buffers);
    EXPECT_EQ(addresses(again), addresses(buffers));
    EXPECT_EQ(pool.statistics().hits, 5);
    EXPECT_EQ(device.pinnings, 1);
    pool.release(again);
  }
  EXPECT_EQ(device.ledger.pinned, 0);
  EXPECT_EQ(device.ledger.pageable, 0);
}

/// A slab is of what is missing: nothing when everything is there, all of it
/// when the others are lent.
TEST_F(PinnedPoolTest, ASlabIsOfWhatIsMissing) {
  PinnedPool pool(device);
  Buffers first = takeAll(pool, Buffers(2, wanted(256)));
  Buffers second = takeAll(pool, Buffers(2, wanted(256)));
  EXPECT_EQ(device.pinnings, 2);
  EXPECT_EQ(pool.statistics().pinnedBytes, 4 * 256);
  pool.release(first);
  // Two of them are there; three more of 256 and one of 512 are not.
  Buffers third = Buffers(5, wanted(256));
  third.push_back(wanted(512));
  third = takeAll(pool, third);
  EXPECT_EQ(device.pinnings, 3);
  EXPECT_EQ(pool.statistics().pinnedBytes, 7 * 256 + 512);
  EXPECT_EQ(pool.statistics().hits, 2);
  // Buffers of several slabs make a step.
  pool.release(second);
  pool.release(third);
  Buffers all = takeAll(pool, Buffers(7, wanted(256)));
  EXPECT_EQ(device.pinnings, 3);
  pool.release(all);
  takeAll(pool, {});
  pool.release({});
  EXPECT_EQ(device.pinnings, 3);
}

/// Without a slab the buffers are pinned one by one, as far as that goes.
TEST_F(PinnedPoolTest, WithoutASlabEachIsPinnedAlone) {
  {
    PinnedPool pool(device);
    device.faults.pinnedAllocation.set(1);
    Buffers alone = takeAll(pool, Buffers(4, wanted(100)));
    EXPECT_EQ(device.pinnings, 1 + 4);
    PoolStatistics counts = pool.statistics();
    EXPECT_EQ(counts.pinnedBytes, 400);
    EXPECT_EQ(counts.fallbacks, 0);
    EXPECT_EQ(counts.misses, 4);

    device.faults.pinnedCapacity = 650;
    Buffers some = takeAll(pool, Buffers(4, wanted(100)));
    std::vector<bool> pinned;
    for (const HostBuffer &buffer : some)
      pinned.push_back(buffer.pinned);
    EXPECT_EQ(pinned, (std::vector<bool>{true, true, false, false}));
    counts = pool.statistics();
    EXPECT_EQ(counts.pinnedBytes, 600);
    EXPECT_EQ(device.ledger.pinned, 600);
    EXPECT_EQ(counts.fallbacks, 2);
    EXPECT_EQ(counts.pageableBytes, 200);
    pool.release(alone);
    pool.release(some);
  }
  EXPECT_EQ(device.ledger.pinned, 0);
  EXPECT_EQ(device.ledger.pageable, 0);
}

/// Steps on threads of their own take and give whole lists; nobody gets what
/// another holds.
TEST_F(PinnedPoolTest, StepsOfSeveralThreads) {
  PinnedPool pool(device);
  std::vector<std::thread> threads;
  std::atomic<bool> right{true};
  for (int id = 1; id <= 4; ++id)
    threads.emplace_back([&, id] {
      for (int step = 0; step < 200; ++step) {
        Buffers buffers = {wanted(64), wanted(300, id % 2), wanted(64)};
        if (!pool.acquire(buffers).ok()) {
          right = false;
          return;
        }
        for (const HostBuffer &buffer : buffers)
          std::memset(buffer.data, id, size_t(buffer.bytes));
        sched_yield();
        for (const HostBuffer &buffer : buffers)
          for (int64_t i = 0; i < buffer.bytes; ++i)
            if (static_cast<char *>(buffer.data)[i] != id)
              right = false;
        pool.release(buffers);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_TRUE(right);
  EXPECT_EQ(pool.statistics().hits + pool.statistics().misses, 4 * 200 * 3);
}

//===----------------------------------------------------------------------===//
// Lending
//===----------------------------------------------------------------------===//

TEST_F(PinnedPoolTest, BuffersComeBackByExactSizeAndKind) {
  PinnedPool pool(device);
  HostBuffer a = take(pool, 1000);
  give(pool, a);
  // Another size, and the same size pageable, are other buckets.
  HostBuffer b = take(pool, 999), c = take(pool, 1000, false);
  EXPECT_NE(b.data, a.data);
  EXPECT_NE(c.data, a.data);
  EXPECT_FALSE(c.pinned);
  HostBuffer again = take(pool, 1000);
  EXPECT_EQ(again.data, a.data);
  PoolStatistics counts = pool.statistics();
  EXPECT_EQ(counts.hits, 1);
  EXPECT_EQ(counts.misses, 3);
  EXPECT_EQ(counts.buckets, 2);
  EXPECT_EQ(counts.pinnedBytes, 1999);
  EXPECT_EQ(counts.pageable, 1);
  EXPECT_EQ(counts.pageableBytes, 1000);
  EXPECT_EQ(counts.fallbacks, 0);
  pool.release({again, b, c});
}

/// Field case M3: constant over steps, nothing after.
TEST_F(PinnedPoolTest, SteadyStateAllocatesNothingAndAllGoesAtTheEnd) {
  {
    PinnedPool pool(device);
    for (int step = 0; step < 300; ++step) {
      HostBuffer a = take(pool, 64), b = take(pool, 64),
                 c = take(pool, 32 + step % 3, step % 2);
      pool.release({a, b, c});
    }
    EXPECT_EQ(pool.statistics().misses, 2 + 6);
    EXPECT_EQ(pool.statistics().hits, 3 * 300 - 8);
  }
  EXPECT_EQ(device.ledger.pinned, 0);
  EXPECT_EQ(device.ledger.pageable, 0);
}

/// Field case X1's cause: a buffer given back while its copy is under way is
/// not lent until the copy is done.
TEST_F(PinnedPoolTest, BufferWaitsForItsLastCopy) {
  PinnedPool pool(device);
  auto stream = device.createStream({}), gate = device.createStream({});
  auto opened = device.createEvent(), made = device.createEvent();
  ASSERT_TRUE(stream.ok() && gate.ok() && opened.ok() && made.ok());
  std::shared_ptr<Event> copied = std::move(*made);
  // The gate stream stays in its kernel until the test opens it.
  std::atomic<bool> open{false};
  device.registerKernel("gate", [&](void *const *, const int64_t *, void *) {
    while (!open)
      sched_yield();
  });
  auto program = std::make_shared<Program>();
  program->target = "host";
  auto module = device.loadModule(program);
  ASSERT_TRUE(module.ok());
  Kernel kernel;
  kernel.symbol = "gate";
  Launch launch;
  launch.kernel = *(*module)->find(kernel, {}, {});
  ASSERT_TRUE((*gate)->launch(launch).ok());
  ASSERT_TRUE((*gate)->record(**opened).ok());

  char source[128] = {};
  HostBuffer a = take(pool, 128);
  ASSERT_TRUE((*stream)->wait(**opened).ok());
  ASSERT_TRUE((*stream)->copyToHost(a.data, source, 128).ok());
  ASSERT_TRUE((*stream)->record(*copied).ok());
  pool.release({a}, copied);
  HostBuffer b = take(pool, 128);
  EXPECT_NE(b.data, a.data);
  open = true;
  ASSERT_TRUE((*stream)->synchronise().ok());
  HostBuffer c = take(pool, 128);
  EXPECT_EQ(c.data, a.data);
  EXPECT_EQ(pool.statistics().misses, 2);
  EXPECT_EQ(pool.statistics().hits, 1);
  pool.release({b, c});
}

TEST_F(PinnedPoolTest, FailedPinningFallsBackAndIsCounted) {
  {
    PinnedPool pool(device);
    device.faults.pinnedAllocation.set(2);
    HostBuffer a = take(pool, 256), b = take(pool, 256), c = take(pool, 256);
    EXPECT_TRUE(a.pinned);
    EXPECT_FALSE(b.pinned);
    EXPECT_TRUE(b.wantPinned);
    EXPECT_TRUE(c.pinned);
    PoolStatistics counts = pool.statistics();
    EXPECT_EQ(counts.fallbacks, 1);
    EXPECT_EQ(counts.pageable, 1);
    EXPECT_EQ(counts.pageableBytes, 256);
    EXPECT_EQ(counts.pinnedBytes, 512);
    EXPECT_EQ(device.ledger.pinned, 512);
    EXPECT_EQ(device.ledger.pageable, 256);
    // The stand-in serves its bucket: no second attempt in every step.
    pool.release({a, b, c});
    Buffers again = takeAll(pool, Buffers(3, wanted(256)));
    EXPECT_EQ(pool.statistics().fallbacks, 1);
    EXPECT_EQ(pool.statistics().misses, 3);
    pool.release(again);
  }
  EXPECT_EQ(device.ledger.pinned, 0);
  EXPECT_EQ(device.ledger.pageable, 0);
}

TEST_F(PinnedPoolTest, NoMemoryAtAllIsAnErrorAndThePoolGoesOn) {
  PinnedPool pool(device);
  device.faults.pinnedAllocation.set(1);
  device.faults.pageableAllocation.set(1);
  Buffers one = {wanted(77)};
  Status failed = pool.acquire(one);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.message().find("77"), std::string::npos);
  HostBuffer next = take(pool, 77);
  EXPECT_TRUE(next.pinned);
  EXPECT_EQ(pool.statistics().misses, 1);
  // A fallback is a buffer that was made; here none was.
  EXPECT_EQ(pool.statistics().fallbacks, 0);
  give(pool, next);

  // What was there and what was made before the failure is lent to the next.
  device.faults.pageableAllocation.set(2);
  Buffers three = {wanted(77), wanted(5, false), wanted(6, false)};
  failed = pool.acquire(three);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.message().find("host buffer 2 of 3"), std::string::npos)
      << failed.message();
  three = takeAll(pool, three);
  EXPECT_EQ(three.front().data, next.data);
  EXPECT_EQ(pool.statistics().misses, 3);
  EXPECT_EQ(pool.statistics().hits, 1 + 2);
  pool.release(three);
}
