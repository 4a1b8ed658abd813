// Flows across the leaf-spine of tests/packets/test_ns3.py in ns-3.37, for its speed and for runs with other flows.
//
// g++ -O2 -std=c++17 ns3_leaf_spine.cc -o ns3_leaf_spine -lns3-internet -lns3-point-to-point -lns3-traffic-control
//     -lns3-bridge -lns3-network -lns3-stats -lns3-core      (Debian 12: libns3-dev)
//
// Arguments: transport, Gbps of hosts and core, s a link, K and buffers in full packets (hosts, core), least timer in s.
// Input: source, destination, bytes, arrival in s and spine of each flow. Output: completion times in s from the SYN to
// the last byte at the receiver, then the CPU seconds. A port is a device's drop-tail queue, which marks packets that
// find more than K waiting; there is no queue above it. Each queue counts bytes.
#include <ctime>
#include <iostream>
#include <map>

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/ppp-header.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

static const uint32_t HOSTS = 16, LEAVES = 4, SPINES = 2, PER_LEAF = 4, FULL = 1502, PORT = 20000;

struct Flow {
    uint32_t source, destination, spine;
    uint64_t size, left, received = 0;
    double arrival, completion = 0;
};

static std::vector<Flow> flows;
static std::vector<Ipv4Address> addresses(HOSTS);
static std::map<Ipv4Address, uint32_t> hostOf;
static std::map<std::pair<Ipv4Address, uint16_t>, uint32_t> flowOf;
static size_t finished = 0;

// A drop-tail queue that marks.
class MarkingQueue : public DropTailQueue<Packet> {
  public:
    uint32_t markAt = 0;

    bool Enqueue(Ptr<Packet> packet) override {
        if (markAt > 0 && GetNBytes() > markAt) {
            PppHeader ppp;
            Ipv4Header ip;
            packet->RemoveHeader(ppp);
            packet->RemoveHeader(ip);
            if (ip.GetEcn() != Ipv4Header::ECN_NotECT) ip.SetEcn(Ipv4Header::ECN_CE);
            packet->AddHeader(ip);
            packet->AddHeader(ppp);
        }
        return DropTailQueue<Packet>::Enqueue(packet);
    }
};

// Sends to the host's port, or up by the spine that the server's port names.
class FabricRouting : public Ipv4RoutingProtocol {
  public:
    std::map<uint32_t, Ptr<NetDevice>> down;
    std::vector<Ptr<NetDevice>> up;

    Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header&, Ptr<NetDevice>, Socket::SocketErrno& error) override {
        error = Socket::ERROR_NOROUTETOHOST;
        return nullptr;
    }
    bool RouteInput(Ptr<const Packet> packet, const Ipv4Header& header, Ptr<const NetDevice>, UnicastForwardCallback go,
                    MulticastForwardCallback, LocalDeliverCallback, ErrorCallback) override {
        uint32_t host = hostOf[header.GetDestination()];
        auto found = down.find(host);
        Ptr<NetDevice> device;
        if (found != down.end()) {
            device = found->second;
        } else {
            TcpHeader tcp;
            packet->PeekHeader(tcp);
            uint16_t port = tcp.GetDestinationPort();  // the other end has an ephemeral one
            device = up[(port < PORT + SPINES ? port : tcp.GetSourcePort()) - PORT];
        }
        Ptr<Ipv4Route> route = Create<Ipv4Route>();
        route->SetDestination(header.GetDestination());
        route->SetGateway(header.GetDestination());
        route->SetOutputDevice(device);
        go(route, packet, header);
        return true;
    }
    void NotifyInterfaceUp(uint32_t) override {}
    void NotifyInterfaceDown(uint32_t) override {}
    void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override {}
    void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override {}
    void SetIpv4(Ptr<Ipv4>) override {}
    void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override {}
};

static void Fill(uint32_t row, Ptr<Socket> socket, uint32_t) {
    Flow& flow = flows[row];
    while (flow.left > 0) {
        uint64_t count = std::min<uint64_t>(flow.left, socket->GetTxAvailable());
        if (count == 0) return;
        int sent = socket->Send(Create<Packet>(count));
        if (sent <= 0) return;
        flow.left -= sent;
    }
    socket->SetSendCallback(MakeNullCallback<void, Ptr<Socket>, uint32_t>());
    socket->Close();
}

static void Begin(Ptr<Node> host, uint32_t row) {
    Flow& flow = flows[row];
    Ptr<Socket> socket = Socket::CreateSocket(host, TcpSocketFactory::GetTypeId());
    socket->Bind();
    Address local;
    socket->GetSockName(local);
    flowOf[{addresses[flow.source], InetSocketAddress::ConvertFrom(local).GetPort()}] = row;
    socket->SetSendCallback([row](Ptr<Socket> each, uint32_t room) { Fill(row, each, room); });
    socket->Connect(InetSocketAddress(addresses[flow.destination], PORT + flow.spine));
}

static void Receive(uint32_t row, Ptr<Socket> socket) {
    Flow& flow = flows[row];
    while (Ptr<Packet> packet = socket->Recv()) {
        if (packet->GetSize() == 0) break;
        flow.received += packet->GetSize();
    }
    if (flow.received == flow.size && flow.completion == 0) {
        flow.completion = Simulator::Now().GetSeconds();
        if (++finished == flows.size()) Simulator::Stop();
    }
}

static void Accept(Ptr<Socket> socket, const Address& from) {
    InetSocketAddress peer = InetSocketAddress::ConvertFrom(from);
    uint32_t row = flowOf.at({peer.GetIpv4(), peer.GetPort()});
    socket->SetRecvCallback([row](Ptr<Socket> each) { Receive(row, each); });
}

int main(int, char** words) {
    std::string transport = words[1];
    double gbps[] = {atof(words[2]), atof(words[3])}, delay = atof(words[4]), least = atof(words[9]);
    uint32_t marks[] = {(uint32_t)atoi(words[5]), (uint32_t)atoi(words[6])};
    uint32_t room[] = {(uint32_t)atoi(words[7]), (uint32_t)atoi(words[8])};
    for (Flow flow; std::cin >> flow.source >> flow.destination >> flow.size >> flow.arrival >> flow.spine;) {
        flow.left = flow.size;
        flows.push_back(flow);
    }
    bool dctcp = transport == "dctcp";
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(dctcp ? TcpDctcp::GetTypeId() : TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1460));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 20));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(least)));
    Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(20));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(least)));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));

    NodeContainer hosts(HOSTS), leaves(LEAVES), spines(SPINES);
    InternetStackHelper stack;
    stack.Install(hosts);
    stack.Install(leaves);
    stack.Install(spines);
    std::vector<Ptr<FabricRouting>> leafRouting, spineRouting;
    for (uint32_t leaf = 0; leaf < LEAVES; leaf++) {
        leafRouting.push_back(CreateObject<FabricRouting>());
        leaves.Get(leaf)->GetObject<Ipv4>()->SetRoutingProtocol(leafRouting[leaf]);
    }
    for (uint32_t spine = 0; spine < SPINES; spine++) {
        spineRouting.push_back(CreateObject<FabricRouting>());
        spines.Get(spine)->GetObject<Ipv4>()->SetRoutingProtocol(spineRouting[spine]);
    }
    auto join = [&](Ptr<Node> one, Ptr<Node> other, int where) {
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", DataRateValue(DataRate((uint64_t)(gbps[where] * 1e9))));
        link.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
        NetDeviceContainer devices = link.Install(one, other);
        for (uint32_t end = 0; end < 2; end++) {
            Ptr<MarkingQueue> queue = CreateObject<MarkingQueue>();
            queue->SetMaxSize(QueueSize(QueueSizeUnit::BYTES, room[where] * FULL));
            queue->markAt = marks[where] * FULL;
            devices.Get(end)->GetObject<PointToPointNetDevice>()->SetQueue(queue);
        }
        return devices;
    };
    Ipv4AddressHelper address("10.0.0.0", "255.255.255.252");
    auto number = [&](NetDeviceContainer devices) {
        Ipv4InterfaceContainer made = address.Assign(devices);
        address.NewNetwork();
        TrafficControlHelper().Uninstall(devices);
        return made;
    };
    Ipv4StaticRoutingHelper routing;
    for (uint32_t host = 0; host < HOSTS; host++) {
        uint32_t leaf = host / PER_LEAF;
        NetDeviceContainer devices = join(hosts.Get(host), leaves.Get(leaf), 0);
        Ipv4InterfaceContainer made = number(devices);
        addresses[host] = made.GetAddress(0);
        hostOf[addresses[host]] = host;
        leafRouting[leaf]->down[host] = devices.Get(1);
        routing.GetStaticRouting(hosts.Get(host)->GetObject<Ipv4>())->SetDefaultRoute(made.GetAddress(1), 1);
    }
    for (uint32_t leaf = 0; leaf < LEAVES; leaf++) {
        for (uint32_t spine = 0; spine < SPINES; spine++) {
            NetDeviceContainer devices = join(leaves.Get(leaf), spines.Get(spine), 1);
            number(devices);
            leafRouting[leaf]->up.push_back(devices.Get(0));
            for (uint32_t host = leaf * PER_LEAF; host < (leaf + 1) * PER_LEAF; host++)
                spineRouting[spine]->down[host] = devices.Get(1);
        }
    }
    for (uint32_t host = 0; host < HOSTS; host++) {
        for (uint32_t spine = 0; spine < SPINES; spine++) {
            Ptr<Socket> socket = Socket::CreateSocket(hosts.Get(host), TcpSocketFactory::GetTypeId());
            socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT + spine));
            socket->Listen();
            socket->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                      Callback<void, Ptr<Socket>, const Address&>(Accept));
        }
    }
    for (uint32_t row = 0; row < flows.size(); row++)
        Simulator::Schedule(Seconds(flows[row].arrival), &Begin, hosts.Get(flows[row].source), row);
    std::clock_t begin = std::clock();
    Simulator::Run();
    double seconds = double(std::clock() - begin) / CLOCKS_PER_SEC;
    std::cout.precision(12);
    for (Flow& flow : flows) std::cout << flow.completion - flow.arrival << "\n";
    std::cout << seconds << std::endl;
    Simulator::Destroy();
}
